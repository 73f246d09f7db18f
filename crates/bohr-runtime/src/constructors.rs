//! Static constructors that start threads, as those of a logger or a pool do. What runs
//! before `main` is outside control, and a thread that stays would be out of reach for
//! good. So a program that comes to start one is begun again, by itself and at that
//! moment, and this time its constructors are the beginning of its first thread. What they
//! did up to there happens twice.
//!
//! The first constructor runs outside control in any case: in a program that was built
//! with bohr it is the one that registers the hooks, and the template has to know them.
//! Threads of constructors of shared libraries stay outside (`early.rs`).

use crate::{carrier::CarrierOnly, channel::Channel, environment, system};
use alloc::vec::Vec;
use core::{
    cell::{Cell, RefCell},
    ffi::{c_char, c_void},
    ptr,
    sync::atomic::{AtomicBool, Ordering},
};

type Constructor = unsafe extern "C-unwind" fn(i32, *mut *mut c_char, *mut *mut c_char);

/// The program's own constructors are running, outside control.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// How the program was started, and what is left to be done.
struct Beginning {
    channel: Cell<Option<Channel>>,
    process: Cell<i32>,
    arguments: Cell<usize>,
    variables: RefCell<Vec<*const c_char>>,
    /// This is the second beginning.
    again: Cell<bool>,
    left: RefCell<Vec<Constructor>>,
}

static BEGINNING: CarrierOnly<Beginning> = CarrierOnly::new(Beginning {
    channel: Cell::new(None),
    process: Cell::new(0),
    arguments: Cell::new(0),
    variables: RefCell::new(Vec::new()),
    again: Cell::new(false),
    left: RefCell::new(Vec::new()),
});

/// Keeps what is needed to begin again.
///
/// # Safety
/// Both must be the program's own arrays, as they were when it was started.
pub unsafe fn prepare(
    channel: Channel,
    again: bool,
    arguments: *mut *mut c_char,
    variables: *mut *mut c_char,
) {
    BEGINNING.channel.set(Some(channel));
    BEGINNING.process.set(system::process_number());
    BEGINNING.arguments.set(arguments as usize);
    // SAFETY: the caller vouches for it.
    *BEGINNING.variables.borrow_mut() = unsafe { environment::pointers(variables) };
    BEGINNING.again.set(again);
}

/// The C library is about to run the constructors: whom it shall call in their place, if
/// they are to be controlled.
pub fn begin() -> Option<usize> {
    RUNNING.store(!BEGINNING.again.get(), Ordering::Relaxed);
    BEGINNING
        .again
        .get()
        .then_some(run_first as *const () as usize)
}

/// They have run, or will under control.
pub fn end() {
    RUNNING.store(false, Ordering::Relaxed);
}

/// Somebody is about to start a thread outside control. Does not come back if that is a
/// constructor of the program.
pub fn starts_thread() {
    let process = system::process_number();
    let is_ours = process == BEGINNING.process.get() && process == system::thread_number();
    let Some(channel) = BEGINNING.channel.get() else {
        return;
    };
    if !is_ours || !RUNNING.load(Ordering::Relaxed) || channel.outlive(true).is_err() {
        return;
    }
    let mut variables = BEGINNING.variables.borrow_mut();
    let said = environment::begun_again(channel.descriptor());
    variables.extend([said.as_ptr(), ptr::null()]);
    let path = c"/proc/self/exe".as_ptr() as usize;
    let arguments = BEGINNING.arguments.get();
    let arguments = [path, arguments, variables.as_mut_ptr() as usize, 0, 0, 0];
    // SAFETY: replaces this process, or does nothing: then the thread is not controlled.
    let _ = unsafe { system::try_call(libc::SYS_execve, arguments) };
    end();
    let _ = channel.outlive(false);
}

/// What the C library calls: the first constructor, and what old programs have before it.
unsafe extern "C-unwind" fn run_first(
    count: i32,
    arguments: *mut *mut c_char,
    variables: *mut *mut c_char,
) {
    let (before, mut constructors) = of_program();
    let behind = constructors.split_off(constructors.len().min(1));
    for constructor in before.into_iter().chain(constructors) {
        // SAFETY: called as the C library does.
        unsafe { constructor(count, arguments, variables) };
    }
    *BEGINNING.left.borrow_mut() = behind;
}

/// The others, under control.
///
/// # Safety
/// Must be called before `main`, with what that gets.
pub unsafe fn run_rest(count: i32, arguments: *mut *mut c_char, variables: *mut *mut c_char) {
    // In a run that is undone the list is wanted again.
    let left = BEGINNING.left.borrow().clone();
    for constructor in left {
        // SAFETY: called as the C library does.
        unsafe { constructor(count, arguments, variables) };
    }
}

/// The program's `_init`, and the list of its constructors.
fn of_program() -> (Option<Constructor>, Vec<Constructor>) {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        found: *mut c_void,
    ) -> i32 {
        // SAFETY: the loader describes an object that is loaded, the program first, and
        // `of_program` passes its result.
        unsafe {
            let (info, found) = (&*info, &mut *found.cast());
            *found = constructors(info);
        }
        1
    }
    let mut found: (Option<Constructor>, Vec<Constructor>) = (None, Vec::new());
    // SAFETY: the callback gets what it is called with.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut found).cast()) };
    found
}

/// # Safety
/// The description must be of an object that is loaded.
unsafe fn constructors(info: &libc::dl_phdr_info) -> (Option<Constructor>, Vec<Constructor>) {
    const DT_NULL: u64 = 0;
    const DT_INIT: u64 = 12;
    const DT_INIT_ARRAY: u64 = 25;
    const DT_INIT_ARRAYSZ: u64 = 27;
    let base = info.dlpi_addr as usize;
    // SAFETY: the caller vouches for the description; dynamic sections end with a null,
    // and lead to what the loader would call.
    unsafe {
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
        let Some(dynamic) = headers.iter().find(|it| it.p_type == libc::PT_DYNAMIC) else {
            return (None, Vec::new());
        };
        let mut entry = (base + dynamic.p_vaddr as usize) as *const [u64; 2];
        let (mut init, mut array, mut length) = (None, 0, 0);
        while (*entry)[0] != DT_NULL {
            let value = (*entry)[1] as usize;
            match (*entry)[0] {
                DT_INIT => {
                    let function = (base + value) as *const ();
                    init = Some(core::mem::transmute::<*const (), Constructor>(function));
                }
                DT_INIT_ARRAY => array = base + value,
                DT_INIT_ARRAYSZ => length = value / size_of::<Constructor>(),
                _ => {}
            }
            entry = entry.add(1);
        }
        let list = match length {
            0 => Vec::new(),
            _ => core::slice::from_raw_parts(array as *const Constructor, length).to_vec(),
        };
        (init, list)
    }
}
