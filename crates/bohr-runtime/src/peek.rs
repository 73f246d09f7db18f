//! What memory holds at an address that may not be there, and changing it. The
//! address is the program's, and if there is a fault in it, that is to happen in the
//! program: a look from here finds nothing, and nobody hears of it.
//!
//! The instruction that looks is the first of its function, so a fault there is
//! known by its address alone, and the handler makes the function return.

use core::arch::naked_asm;

/// What a look has found.
#[repr(C)]
struct Found {
    value: u64,
    /// 0 if there was a fault.
    is_there: u64,
}

/// Functions that load or exchange a number of one size; nothing is before that.
macro_rules! looks {
    ($($name:ident: $load:literal,)*) => {
        $(
            #[unsafe(naked)]
            unsafe extern "C" fn $name(address: usize, value: u64) -> Found {
                naked_asm!(
                    ".cfi_startproc",
                    $load,
                    "mov edx, 1",
                    "ret",
                    ".cfi_endproc",
                )
            }
        )*

        /// Whether the instruction at this address is such an access.
        fn is_look(instruction: u64) -> bool {
            let looks = [$($name as *const () as u64),*];
            looks.contains(&instruction)
        }
    };
}

looks! {
    one: "movzx eax, byte ptr [rdi]",
    two: "movzx eax, word ptr [rdi]",
    four: "mov eax, dword ptr [rdi]",
    eight: "mov rax, qword ptr [rdi]",
    exchange_one: "xchg byte ptr [rdi], sil\nmovzx eax, sil",
    exchange_four: "xchg dword ptr [rdi], esi\nmov eax, esi",
    exchange_eight: "xchg qword ptr [rdi], rsi\nmov rax, rsi",
}

/// Where a look goes on that has met a fault: nothing has been pushed, so this
/// returns to who looked.
#[unsafe(naked)]
unsafe extern "C" fn nothing() {
    naked_asm!(".cfi_startproc", "xor edx, edx", "ret", ".cfi_endproc")
}

/// Called by the handler of a fault at this instruction: where to go on, if the
/// fault was a look's.
pub fn recovery(instruction: u64) -> Option<u64> {
    is_look(instruction).then_some(nothing as *const () as u64)
}

/// The first bytes of `size` at `address`, at most eight, as a little-endian
/// number; `None` if there are none or they cannot be read.
#[inline]
pub fn peek(address: usize, size: u32) -> Option<u64> {
    let look = match size {
        1 => one,
        2 => two,
        4 => four,
        8.. => eight,
        _ => return pieces(address, size),
    };
    // SAFETY: reads memory, or finds out that it cannot; nobody else runs.
    let found = unsafe { look(address, 0) };
    (found.is_there != 0).then_some(found.value)
}

/// Memory and these bytes, of which there are one, four or eight, change places;
/// whether memory was there to be written.
pub fn exchange(address: usize, bytes: &mut [u8]) -> bool {
    let exchange = match bytes.len() {
        1 => exchange_one,
        4 => exchange_four,
        _ => exchange_eight,
    };
    let mut value = [0; 8];
    value[..bytes.len()].copy_from_slice(bytes);
    // SAFETY: writes memory of the program where a store of the program does, or
    // finds out that it cannot; nobody else runs.
    let found = unsafe { exchange(address, u64::from_le_bytes(value)) };
    if found.is_there != 0 {
        bytes.copy_from_slice(&found.value.to_le_bytes()[..bytes.len()]);
    }
    found.is_there != 0
}

/// Sizes that no instruction has, byte by byte.
fn pieces(address: usize, size: u32) -> Option<u64> {
    let byte = |position: u32| peek(address.checked_add(position as usize)?, 1);
    let mut value = None;
    for position in 0..size {
        value = Some(value.unwrap_or(0) | byte(position)? << (8 * position));
    }
    value
}
