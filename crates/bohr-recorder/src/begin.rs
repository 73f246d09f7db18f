//! Where `main` begins: what comes before belongs to the loading of the program,
//! which nobody controls.

use crate::real::real;
use crate::{inputs, order};
use core::ffi::{c_char, c_int, c_void};
use core::mem;
use core::sync::atomic::{AtomicUsize, Ordering};

type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Hook = Option<unsafe extern "C-unwind" fn()>;

static MAIN: AtomicUsize = AtomicUsize::new(0);

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __libc_start_main(
    main: Main,
    count: c_int,
    arguments: *mut *mut c_char,
    begin: Hook,
    end: Hook,
    unload: Hook,
    stack: *mut c_void,
) -> c_int {
    let start = real!(
        fn __libc_start_main(Main, c_int, *mut *mut c_char, Hook, Hook, Hook, *mut c_void) -> c_int
    );
    MAIN.store(main as usize, Ordering::Relaxed);
    // SAFETY: passes on what the start-up code passed.
    unsafe { start(begin_main, count, arguments, begin, end, unload, stack) }
}

unsafe extern "C-unwind" fn begin_main(
    count: c_int,
    arguments: *mut *mut c_char,
    environment: *mut *mut c_char,
) -> c_int {
    order::begin_main();
    inputs::begin_main();
    // SAFETY: the program's own `main`, with its own arguments.
    unsafe {
        let main = mem::transmute::<usize, Main>(MAIN.load(Ordering::Relaxed));
        main(count, arguments, environment)
    }
}
