//! How the program comes to know this library: the constructor of its path
//! profile calls `__bohr_record`.

use crate::{area, crash, inputs, order, streams, thread};
use bohr_event::recording::{HeaderWord, PATH_MAGIC, PathModule, Pen, RECORDING_VERSION};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

static MODULE: AtomicPtr<PathModule> = AtomicPtr::new(null_mut());

/// The pen of the calling thread, if the program has any.
pub fn pen() -> Option<*mut Pen> {
    // SAFETY: null, or the program's own description, which stays.
    let module = unsafe { MODULE.load(Ordering::Acquire).as_ref() }?;
    // SAFETY: the description's function gives the address of a thread-local.
    Some(unsafe { (module.pen)() })
}

/// Called by the constructor of a path profile, before `main`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __bohr_record(module: *mut PathModule) {
    // SAFETY: the constructor passes its own object's description.
    let Some(description) = (unsafe { module.as_ref() }) else {
        return;
    };
    let known = description.magic == PATH_MAGIC && description.version == RECORDING_VERSION;
    if !known || !area::open(&description.program) {
        return;
    }
    let wishes = area::header(HeaderWord::Wishes);
    order::wish(wishes.map_or(0, |word| word.load(Ordering::Relaxed)));
    inputs::prepare();
    streams::watch();
    MODULE.store(module, Ordering::Release);
    // SAFETY: the description leads to a writable variable of its object, and to
    // the thread-local of this thread, the only one.
    unsafe {
        *description.full = Some(thread::full);
        thread::begin((description.pen)(), thread::UNKNOWN);
        libc::pthread_atfork(None, None, Some(in_child));
    }
    crash::watch();
    // Nobody reads the log any more if bohr is gone.
    // SAFETY: asks for a signal.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

unsafe extern "C" fn in_child() {
    if let Some(pen) = pen() {
        // SAFETY: a new process has one thread, this one.
        unsafe { thread::detach(pen) };
    }
}
