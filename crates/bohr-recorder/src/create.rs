//! Creation of threads: each gets its number among the children of its parent,
//! whatever the order in which they begin to run.

use crate::register::pen;
use crate::thread::{self, Origin, Thread};
use core::ffi::c_void;
use core::mem;
use libc::{pthread_attr_t, pthread_t};

type Routine = extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(
    *mut pthread_t,
    *const pthread_attr_t,
    Routine,
    *mut c_void,
) -> libc::c_int;

/// What a new thread is to do, handed over on the heap.
struct Task {
    routine: Routine,
    argument: *mut c_void,
    origin: Origin,
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> libc::c_int {
    // SAFETY: the C library has a function of this name and type.
    let create = unsafe {
        let next = libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr());
        mem::transmute::<*mut c_void, Create>(next)
    };
    // SAFETY: the calling thread's pen.
    let parent = pen().and_then(|pen| unsafe { Thread::of(pen) });
    let Some(parent) = parent else {
        // SAFETY: the caller's own arguments.
        return unsafe { create(thread, attributes, routine, argument) };
    };
    let task = Box::into_raw(Box::new(Task {
        routine,
        argument,
        origin: Origin {
            parent: parent.index(),
            child: parent.next_child(),
        },
    }));
    // SAFETY: the caller's own arguments; the task belongs to the new thread.
    let result = unsafe { create(thread, attributes, begin, task.cast()) };
    if result != 0 {
        // SAFETY: there is no thread that could have taken it.
        drop(unsafe { Box::from_raw(task) });
    }
    result
}

extern "C" fn begin(task: *mut c_void) -> *mut c_void {
    // SAFETY: handed over by `pthread_create` above.
    let task = unsafe { Box::from_raw(task.cast::<Task>()) };
    let (routine, argument) = (task.routine, task.argument);
    if let Some(pen) = pen() {
        // SAFETY: this thread's pen, and it has written nothing.
        unsafe { thread::begin(pen, task.origin) };
    }
    drop(task);
    routine(argument)
}
