//! C11's `threads.h`. Its objects are those of pthreads; the C library's own
//! functions do not pass through names that can be shadowed, so these do.

use super::{caller, cancel, condition, interpose, keys, mutex, object, once, thread, time};
use crate::{
    clock::{CLOCK, timespec},
    control, early,
    engine::{ENGINE, operation},
    real::real,
    thread::Start,
    threads,
};
use bohr_event::EventKind;
use core::ffi::c_void;

const BUSY: i32 = 1;
const ERROR: i32 = 2;
const NO_MEMORY: i32 = 3;
const TIMED_OUT: i32 = 4;

type ThreadStart = unsafe extern "C-unwind" fn(*mut c_void) -> i32;

/// An error number of pthreads in the words of C11.
fn code(error: i32) -> i32 {
    match error {
        0 => 0,
        libc::EBUSY => BUSY,
        libc::ENOMEM | libc::EAGAIN => NO_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

unsafe fn deadline(time: *const libc::timespec) -> u64 {
    // SAFETY: the program passes a time.
    CLOCK.deadline(libc::CLOCK_REALTIME, unsafe { &*time })
}

interpose! {
    fn thrd_create(handle: *mut libc::pthread_t, start: ThreadStart, argument: *mut c_void) -> i32 {
        if !control::is_on() {
            thread::creates_early();
            let create = real!(fn thrd_create(*mut libc::pthread_t, ThreadStart, *mut c_void) -> i32);
            // SAFETY: passes on what the program passed, which wants the handle there.
            return unsafe {
                let answer = create(handle, start, argument);
                if answer == 0 {
                    thread::created_early(*handle);
                }
                answer
            };
        }
        // SAFETY: an int is returned in the lower half of the register that a
        // pointer is returned in, and `thrd_join` looks at no more.
        let start = unsafe { core::mem::transmute::<ThreadStart, Start>(start) };
        match threads::create(threads::Wish::new(start, argument as usize), caller()) {
            Ok(created) => {
                // SAFETY: the program wants the handle there.
                unsafe { *handle = created };
                0
            }
            Err(error) => code(error),
        }
    }

    fn thrd_join(handle: libc::pthread_t, result: *mut i32) -> i32 {
        if !control::is_on() {
            early::forget(handle);
            let join = real!(fn thrd_join(libc::pthread_t, *mut i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { join(handle, result) };
        }
        let mut value = core::ptr::null_mut();
        let error = thread::join(handle, &raw mut value, caller(), u64::MAX);
        if error == 0 && !result.is_null() {
            // SAFETY: the program wants the result there.
            unsafe { *result = value as usize as i32 };
        }
        code(error)
    }

    fn thrd_exit(result: i32) -> ! {
        if control::is_on() {
            ENGINE.current().result.set(result as u32 as usize);
        }
        let exit = real!(fn pthread_exit(*mut c_void) -> !);
        // SAFETY: unwinds to the entry of the fiber, which ends it.
        unsafe { exit(result as u32 as usize as *mut c_void) }
    }

    fn thrd_detach(handle: libc::pthread_t) -> i32 {
        if !control::is_on() {
            early::forget(handle);
            let detach = real!(fn thrd_detach(libc::pthread_t) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { detach(handle) };
        }
        code(thread::detach(handle))
    }

    fn thrd_yield() {
        if control::is_on() {
            ENGINE.step(operation(EventKind::Yield, 0, caller()));
        }
    }

    fn thrd_sleep(span: *const libc::timespec, left: *mut libc::timespec) -> i32 {
        if !control::is_on() {
            let sleep = real!(fn thrd_sleep(*const libc::timespec, *mut libc::timespec) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { sleep(span, left) };
        }
        let place = caller();
        cancel::point();
        // SAFETY: the program passes a time.
        let rest = time::sleep_until(CLOCK.after(unsafe { &*span }), place);
        // SAFETY: the program wants it there, if anywhere.
        if let Some(left) = unsafe { left.as_mut() } {
            *left = timespec(rest);
        }
        if rest == 0 { 0 } else { -1 }
    }

    fn mtx_lock(mutex: mutex::Raw) -> i32 {
        if !control::is_on() {
            let lock = real!(fn mtx_lock(mutex::Raw) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { lock(mutex) };
        }
        code(mutex::lock(mutex, caller(), u64::MAX))
    }

    fn mtx_timedlock(mutex: mutex::Raw, time: *const libc::timespec) -> i32 {
        if !control::is_on() {
            let lock = real!(fn mtx_timedlock(mutex::Raw, *const libc::timespec) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { lock(mutex, time) };
        }
        // SAFETY: the program's time.
        code(mutex::lock(mutex, caller(), unsafe { deadline(time) }))
    }

    fn mtx_trylock(mutex: mutex::Raw) -> i32 {
        if control::is_on() {
            mutex::attempt(mutex, caller());
        }
        let lock = real!(fn mtx_trylock(mutex::Raw) -> i32);
        // SAFETY: passes on what the program passed.
        unsafe { lock(mutex) }
    }

    fn mtx_unlock(mutex: mutex::Raw) -> i32 {
        if !control::is_on() {
            let unlock = real!(fn mtx_unlock(mutex::Raw) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { unlock(mutex) };
        }
        code(mutex::unlock(mutex, caller()))
    }

    fn cnd_wait(condition: *mut c_void, mutex: mutex::Raw) -> i32 {
        if !control::is_on() {
            let wait = real!(fn cnd_wait(*mut c_void, mutex::Raw) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { wait(condition, mutex) };
        }
        code(condition::wait(condition as usize, mutex, caller(), u64::MAX))
    }

    fn cnd_timedwait(condition: *mut c_void, mutex: mutex::Raw, time: *const libc::timespec) -> i32 {
        if !control::is_on() {
            let wait = real!(fn cnd_timedwait(*mut c_void, mutex::Raw, *const libc::timespec) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { wait(condition, mutex, time) };
        }
        // SAFETY: the program's time.
        let deadline = unsafe { deadline(time) };
        code(condition::wait(condition as usize, mutex, caller(), deadline))
    }

    fn cnd_signal(condition: *mut c_void) -> i32 {
        if !control::is_on() {
            let signal = real!(fn cnd_signal(*mut c_void) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { signal(condition) };
        }
        object::step(operation(EventKind::Signal, condition as usize, caller()));
        condition::wake(condition as usize, 1);
        0
    }

    fn cnd_broadcast(condition: *mut c_void) -> i32 {
        if !control::is_on() {
            let broadcast = real!(fn cnd_broadcast(*mut c_void) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { broadcast(condition) };
        }
        object::step(operation(EventKind::Broadcast, condition as usize, caller()));
        condition::wake(condition as usize, usize::MAX);
        0
    }

    fn cnd_destroy(condition: *mut c_void) {
        if !control::is_on() {
            let destroy = real!(fn cnd_destroy(*mut c_void));
            // SAFETY: passes on what the program passed.
            unsafe { destroy(condition) }
        }
    }

    fn call_once(word: *mut i32, routine: once::Routine) {
        if !control::is_on() {
            let call = real!(fn call_once(*mut i32, once::Routine));
            // SAFETY: passes on what the program passed.
            return unsafe { call(word, routine) };
        }
        // SAFETY: passes on what the program passed.
        unsafe { once::once(word, routine, caller()) };
    }

    fn tss_create(key: *mut u32, destructor: Option<keys::Destructor>) -> i32 {
        let create = real!(fn tss_create(*mut u32, Option<keys::Destructor>) -> i32);
        // SAFETY: passes on what the program passed, and reads the key it wanted.
        unsafe {
            let error = create(key, destructor);
            if error == 0 {
                keys::remember(*key as usize, destructor);
            }
            error
        }
    }

    fn tss_delete(key: u32) {
        keys::remember(key as usize, None);
        let delete = real!(fn tss_delete(u32));
        // SAFETY: passes on what the program passed.
        unsafe { delete(key) }
    }
}
