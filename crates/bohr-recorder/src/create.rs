//! Creation of threads: each gets its number among the children of its parent,
//! whatever the order in which they begin to run.

use crate::real::real;
use crate::register::pen;
use crate::thread::{self, Origin, Thread};
use core::ffi::c_void;
use core::mem;
use libc::{pthread_attr_t, pthread_t};

type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C-unwind" fn(
    *mut pthread_t,
    *const pthread_attr_t,
    Routine,
    *mut c_void,
) -> libc::c_int;

/// What a thread of C11 does: its result is the lower half of a pointer's register.
type NumberRoutine = unsafe extern "C-unwind" fn(*mut c_void) -> libc::c_int;

/// What a new thread is to do, handed over on the heap.
struct Task {
    routine: Routine,
    argument: *mut c_void,
    origin: Origin,
}

/// Has a thread made that begins with its name: `make` gets what it is to do.
fn named(
    routine: Routine,
    argument: *mut c_void,
    make: impl FnOnce(Routine, *mut c_void) -> libc::c_int,
) -> libc::c_int {
    // SAFETY: the calling thread's pen.
    let parent = pen().and_then(|pen| unsafe { Thread::of(pen) });
    let Some(parent) = parent else {
        return make(routine, argument);
    };
    let origin = Origin {
        parent: parent.index(),
        child: parent.next_child(),
    };
    let task = Box::into_raw(Box::new(Task {
        routine,
        argument,
        origin,
    }));
    let result = make(begin, task.cast());
    if result != 0 {
        // SAFETY: there is no thread that could have taken it.
        drop(unsafe { Box::from_raw(task) });
    }
    result
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> libc::c_int {
    let create: Create = real!(
        fn pthread_create(*mut pthread_t, *const pthread_attr_t, Routine, *mut c_void) -> libc::c_int
    );
    named(routine, argument, |routine, argument| {
        // SAFETY: the caller's own arguments; the task belongs to the new thread.
        unsafe { create(thread, attributes, routine, argument) }
    })
}

/// Shadows the C library's, which does not come by the name above.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn thrd_create(
    thread: *mut pthread_t,
    routine: NumberRoutine,
    argument: *mut c_void,
) -> libc::c_int {
    let create = real!(
        fn thrd_create(*mut pthread_t, NumberRoutine, *mut c_void) -> libc::c_int
    );
    // SAFETY: a number is returned in the lower half of the register that a pointer
    // is returned in, and nobody looks at more of it.
    let routine = unsafe { mem::transmute::<NumberRoutine, Routine>(routine) };
    named(routine, argument, |routine, argument| {
        // SAFETY: as above, the other way; the caller's own arguments.
        unsafe {
            let routine = mem::transmute::<Routine, NumberRoutine>(routine);
            create(thread, routine, argument)
        }
    })
}

/// Threads may end by an exception that passes here: cancellation is one.
unsafe extern "C-unwind" fn begin(task: *mut c_void) -> *mut c_void {
    // SAFETY: handed over by `named`.
    let task = unsafe { Box::from_raw(task.cast::<Task>()) };
    let (routine, argument) = (task.routine, task.argument);
    if let Some(pen) = pen() {
        // SAFETY: this thread's pen, and it has written nothing.
        unsafe { thread::begin(pen, task.origin) };
    }
    drop(task);
    // SAFETY: what the program passed.
    unsafe { routine(argument) }
}
