//! The object that names threads: `threads.ll`, compiled.

use crate::diagnostics::Diagnostics;
use crate::emit;
use crate::level::Level;
use crate::merge::target_machine;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::RelocMode;

const TEXT: &str = include_str!("threads.ll");

/// The object, for programs that are linked with the C library's shared object.
///
/// # Errors
/// With LLVM's words, which would be our bug.
pub fn object(relocation: RelocMode) -> Result<Vec<u8>, String> {
    // The text has names, which the context of the program throws away.
    let context = Context::create();
    let diagnostics = Diagnostics::collect(&context);
    let mut text = TEXT.as_bytes().to_vec();
    text.push(0);
    let buffer = MemoryBuffer::create_from_memory_range_copy(&text, "threads.ll");
    let module = context
        .create_module_from_ir(buffer)
        .map_err(|message| message.to_string())?;
    let machine = target_machine(relocation, Level::Default)?;
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    emit::object(&module, &machine, &diagnostics)
}
