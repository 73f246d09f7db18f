//! `pthread_create` and what belongs to it.

use super::{affinity, caller, interpose};
use crate::{
    clock::CLOCK,
    constructors, control, early,
    engine::{ENGINE, operation},
    real::{real, real_if_any},
    signals,
    thread::{NOW, Start},
    threads::{self, Wish},
};
use bohr_event::EventKind;
use core::{ffi::c_void, mem::MaybeUninit};

/// Bytes below a stack that nobody can touch; the gaps between stacks are larger.
const GUARD: usize = 4096;

/// What the attributes ask for.
unsafe fn wish(
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> Wish {
    let mut wish = Wish::new(start, argument as usize);
    if !attributes.is_null() {
        let mut detached = 0;
        let (mut start, mut length) = (core::ptr::null_mut(), 0);
        // SAFETY: the program passed initialised attributes.
        unsafe {
            pthread_attr_getdetachstate(attributes, &mut detached);
            libc::pthread_attr_getstacksize(attributes, &mut wish.stack);
            libc::pthread_attr_getstack(attributes, &mut start, &mut length);
            wish.processors = affinity::of_attributes(attributes);
            wish.blocked = blocked(attributes);
        }
        wish.detached = detached == libc::PTHREAD_CREATE_DETACHED;
        // Attributes without a stack have one that ends at address 0.
        let end = (start as usize).wrapping_add(length);
        wish.given = (end != 0).then_some((start as usize, end));
    }
    wish
}

/// Which signals attributes have a thread block; `None` if they leave that to its creator.
///
/// # Safety
/// They must be initialised.
unsafe fn blocked(attributes: *const libc::pthread_attr_t) -> Option<u64> {
    let ask = real_if_any!(fn pthread_attr_getsigmask_np(
        *const libc::pthread_attr_t,
        *mut libc::sigset_t,
    ) -> i32)?;
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the caller answers for the attributes; a set may be all zeroes.
    unsafe { (ask(attributes, set.as_mut_ptr()) == 0).then(|| signals::mask(&set.assume_init())) }
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const libc::pthread_attr_t, state: *mut i32)
    -> i32;
}

/// Joins by handle, with all that can be wrong about it.
pub fn join(handle: libc::pthread_t, result: *mut *mut c_void, place: u64, deadline: u64) -> i32 {
    let Some(thread) = ENGINE.by_handle(handle) else {
        return match early::is_known(handle) {
            true => early::join(handle, result, place, deadline == NOW),
            false => libc::ESRCH,
        };
    };
    if thread.detached.get() {
        return libc::EINVAL;
    }
    if thread.index == ENGINE.current().index {
        return libc::EDEADLK;
    }
    match threads::join(thread, place, deadline) {
        Ok(value) => {
            if !result.is_null() {
                // SAFETY: the program wants the result there.
                unsafe { *result = value as *mut c_void };
            }
            0
        }
        Err(error) => error,
    }
}

/// Detaches by handle, likewise.
pub fn detach(handle: libc::pthread_t) -> i32 {
    match ENGINE.by_handle(handle) {
        None if early::is_known(handle) => early::detach(handle),
        None => libc::ESRCH,
        Some(thread) if thread.detached.get() => libc::EINVAL,
        Some(thread) => {
            threads::detach(thread);
            0
        }
    }
}

/// A thread is about to be created where there is no control.
pub fn creates_early() {
    if control::is_watching() {
        constructors::starts_thread();
    }
}

/// A thread has been created where there is no control: yet, or in a child of a run.
pub fn created_early(handle: libc::pthread_t) {
    if control::is_watching() {
        early::note(handle);
    }
}

interpose! {
    fn pthread_create(
        handle: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: Start,
        argument: *mut c_void,
    ) -> i32 {
        if !control::is_on() {
            creates_early();
            let create = real!(fn pthread_create(
                *mut libc::pthread_t,
                *const libc::pthread_attr_t,
                Start,
                *mut c_void,
            ) -> i32);
            // SAFETY: passes on what the program passed, which wants the handle there.
            return unsafe {
                let error = create(handle, attributes, start, argument);
                if error == 0 {
                    created_early(*handle);
                }
                error
            };
        }
        let place = caller();
        // SAFETY: the program's attributes.
        let wish = unsafe { wish(attributes, start, argument) };
        match threads::create(wish, place) {
            Ok(created) => {
                // SAFETY: the program wants the handle there.
                unsafe { *handle = created };
                0
            }
            Err(error) => error,
        }
    }

    fn pthread_join(handle: libc::pthread_t, result: *mut *mut c_void) -> i32 {
        if !control::is_on() {
            early::forget(handle);
            let join = real!(fn pthread_join(libc::pthread_t, *mut *mut c_void) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { join(handle, result) };
        }
        join(handle, result, caller(), u64::MAX)
    }

    fn pthread_tryjoin_np(handle: libc::pthread_t, result: *mut *mut c_void) -> i32 {
        if !control::is_on() {
            let join = real!(fn pthread_tryjoin_np(libc::pthread_t, *mut *mut c_void) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { join(handle, result) };
        }
        match join(handle, result, caller(), NOW) {
            libc::ETIMEDOUT | libc::EDEADLK => libc::EBUSY,
            answer => answer,
        }
    }

    fn pthread_timedjoin_np(
        handle: libc::pthread_t,
        result: *mut *mut c_void,
        time: *const libc::timespec,
    ) -> i32 {
        if !control::is_on() {
            let join = real!(fn pthread_timedjoin_np(
                libc::pthread_t,
                *mut *mut c_void,
                *const libc::timespec,
            ) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { join(handle, result, time) };
        }
        // SAFETY: the program passes a time.
        let deadline = CLOCK.deadline(libc::CLOCK_REALTIME, unsafe { &*time });
        join(handle, result, caller(), deadline)
    }

    fn pthread_clockjoin_np(
        handle: libc::pthread_t,
        result: *mut *mut c_void,
        clock: libc::clockid_t,
        time: *const libc::timespec,
    ) -> i32 {
        if !control::is_on() {
            let join = real!(fn pthread_clockjoin_np(
                libc::pthread_t,
                *mut *mut c_void,
                libc::clockid_t,
                *const libc::timespec,
            ) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { join(handle, result, clock, time) };
        }
        let place = caller();
        // SAFETY: the program passes a time, or nothing.
        let time = unsafe { time.as_ref() };
        let deadline = time.map_or(u64::MAX, |time| CLOCK.deadline(clock, time));
        join(handle, result, place, deadline)
    }

    fn pthread_getattr_np(handle: libc::pthread_t, attributes: *mut libc::pthread_attr_t) -> i32 {
        let thread = match ENGINE.by_handle(handle) {
            Some(thread) if control::is_on() => thread,
            _ => {
                let get = real!(fn pthread_getattr_np(
                    libc::pthread_t,
                    *mut libc::pthread_attr_t,
                ) -> i32);
                // SAFETY: passes on what the program passed.
                return unsafe { get(handle, attributes) };
            }
        };
        let (lowest, end) = thread.stack.get();
        let start = lowest + thread.reserve.get();
        let detached = i32::from(thread.detached.get());
        // SAFETY: the program wants the attributes there.
        unsafe {
            libc::pthread_attr_init(attributes);
            libc::pthread_attr_setdetachstate(attributes, detached);
            libc::pthread_attr_setguardsize(attributes, GUARD);
            libc::pthread_attr_setstack(attributes, start as *mut c_void, end - start)
        }
    }

    fn pthread_detach(handle: libc::pthread_t) -> i32 {
        if !control::is_on() {
            early::forget(handle);
            let detach = real!(fn pthread_detach(libc::pthread_t) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { detach(handle) };
        }
        detach(handle)
    }

    fn pthread_exit(value: *mut c_void) -> ! {
        if control::is_on() {
            ENGINE.current().result.set(value as usize);
        }
        let exit = real!(fn pthread_exit(*mut c_void) -> !);
        // SAFETY: unwinds to the entry of the fiber, which ends it.
        unsafe { exit(value) }
    }

    fn sched_yield() -> i32 {
        if !control::is_on() {
            let offer = real!(fn sched_yield() -> i32);
            // SAFETY: passes on the call.
            return unsafe { offer() };
        }
        ENGINE.step(operation(EventKind::Yield, 0, caller()));
        0
    }

    fn pthread_yield() -> i32 {
        if control::is_on() {
            ENGINE.step(operation(EventKind::Yield, 0, caller()));
        }
        0
    }
}
