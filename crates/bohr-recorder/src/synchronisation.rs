//! The functions of the C library whose order is written down if that is asked for:
//! locks, conditions and what is done once. What is an event here is one under
//! control (`bohr-runtime/src/interpose`), so the two can be counted alike.
//!
//! Whoever takes something says so when it has it, whoever gives it back says so
//! before, and what does not wait is one with its place in the order. Signals are
//! left out: the C library makes some of its own that nobody sees here.

use crate::holders;
use crate::order::{is_wanted, synchronise};
use crate::real::real;
use crate::thread::current;
use core::ffi::c_void;
use core::mem;
use libc::{clockid_t, timespec};

type Object = *mut c_void;
type Time = *const timespec;

/// Defines functions that pass their arguments on, each in one of the ways below.
macro_rules! shadow {
    ($($how:ident fn $name:ident($first:ident: $object:ty $(, $argument:ident: $type:ty)*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($first: $object $(, $argument: $type)*) -> i32 {
            let real = real!(fn $name($object $(, $type)*) -> i32);
            // SAFETY: passes on what the program passed.
            let action = || unsafe { real($first $(, $argument)*) };
            match is_wanted() {
                true => $how($first, action),
                false => action(),
            }
        }
    )*};
}

shadow! {
    lock fn pthread_mutex_lock(mutex: Object);
    lock fn pthread_mutex_timedlock(mutex: Object, time: Time);
    lock fn pthread_mutex_clocklock(mutex: Object, clock: clockid_t, time: Time);
    try_lock fn pthread_mutex_trylock(mutex: Object);
    unlock fn pthread_mutex_unlock(mutex: Object);
    lock fn mtx_lock(mutex: Object);
    lock fn mtx_timedlock(mutex: Object, time: Time);
    try_lock fn mtx_trylock(mutex: Object);
    unlock fn mtx_unlock(mutex: Object);
    take fn pthread_spin_lock(lock: Object);
    at_once fn pthread_spin_trylock(lock: Object);
    at_once fn pthread_spin_unlock(lock: Object);
    take fn pthread_rwlock_rdlock(lock: Object);
    take fn pthread_rwlock_wrlock(lock: Object);
    take fn pthread_rwlock_timedrdlock(lock: Object, time: Time);
    take fn pthread_rwlock_timedwrlock(lock: Object, time: Time);
    take fn pthread_rwlock_clockrdlock(lock: Object, clock: clockid_t, time: Time);
    take fn pthread_rwlock_clockwrlock(lock: Object, clock: clockid_t, time: Time);
    at_once fn pthread_rwlock_tryrdlock(lock: Object);
    at_once fn pthread_rwlock_trywrlock(lock: Object);
    at_once fn pthread_rwlock_unlock(lock: Object);
}

/// The same of functions that give a mutex back, wait, and take it again, whatever
/// ends the wait.
macro_rules! shadow_waits {
    ($(fn $name:ident($mutex:ident $(, $argument:ident: $type:ty)*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            condition: Object,
            $mutex: Object
            $(, $argument: $type)*
        ) -> i32 {
            let real = real!(fn $name(Object, Object $(, $type)*) -> i32);
            mark(|| holders::remove($mutex as usize));
            // SAFETY: passes on what the program passed.
            let result = unsafe { real(condition, $mutex $(, $argument)*) };
            mark(|| holders::add($mutex as usize));
            result
        }
    )*};
}

shadow_waits! {
    fn pthread_cond_wait(mutex);
    fn pthread_cond_timedwait(mutex, time: Time);
    fn pthread_cond_clockwait(mutex, clock: clockid_t, time: Time);
    fn cnd_wait(mutex);
    fn cnd_timedwait(mutex, time: Time);
}

/// A place in the order, if there is one.
fn mark(mut action: impl FnMut()) {
    if is_wanted() {
        synchronise(|| {
            action();
            Some(())
        });
    }
}

/// What does not wait.
fn at_once(_: Object, mut action: impl FnMut() -> i32) -> i32 {
    synchronise(|| Some(action())).unwrap_or_default()
}

/// What may wait, and has happened if its result is 0.
fn take(_: Object, mut action: impl FnMut() -> i32) -> i32 {
    let result = action();
    if result == 0 {
        mark(|| ());
    }
    result
}

/// So often is looked again for whoever has a mutex to say so; a library may have
/// taken it before anybody listened.
const PATIENCE: u32 = 100_000;

/// Takes a mutex or finds it taken, by somebody who has said so.
fn try_lock(mutex: Object, mut action: impl FnMut() -> i32) -> i32 {
    let mut tries = 0;
    loop {
        let tried = synchronise(|| {
            let result = action();
            let known = holders::contains(mutex as usize);
            if result == 0 && !known {
                holders::add(mutex as usize);
            }
            (result == 0 || known || tries == PATIENCE).then_some(result)
        });
        if let Some(result) = tried {
            return result;
        }
        tries += 1;
        // SAFETY: offers the processor.
        unsafe { libc::sched_yield() };
    }
}

/// A mutex as the C library lays it out.
#[repr(C)]
struct Mutex {
    lock: i32,
    count: u32,
    owner: i32,
    users: u32,
    kind: i32,
}

const KIND: i32 = 3;
const RECURSIVE: i32 = 1;

/// How often the calling thread holds a mutex.
fn depth(mutex: Object) -> u32 {
    // SAFETY: the program's mutex; whether this thread is its owner cannot change
    // meanwhile.
    let mutex = unsafe { &*mutex.cast::<Mutex>() };
    let own = current().is_some_and(|thread| mutex.owner == thread.system_number());
    match (own, mutex.kind & KIND) {
        (false, _) => 0,
        (true, RECURSIVE) => mutex.count,
        (true, _) => 1,
    }
}

/// To lock again changes a count, or is an error.
fn lock(mutex: Object, mut action: impl FnMut() -> i32) -> i32 {
    let again = depth(mutex) > 0;
    let result = action();
    if result == 0 && !again {
        mark(|| holders::add(mutex as usize));
    }
    result
}

fn unlock(mutex: Object, mut action: impl FnMut() -> i32) -> i32 {
    if depth(mutex) > 1 {
        return action();
    }
    at_once(mutex, || {
        holders::remove(mutex as usize);
        action()
    })
}

type Routine = unsafe extern "C-unwind" fn();

/// Called in place of what is to be done once: the thread knows it.
unsafe extern "C-unwind" fn work() {
    let routine = current().and_then(crate::thread::Thread::take_routine);
    mark(|| ());
    if let Some(routine) = routine {
        // SAFETY: kept by `once`.
        unsafe { mem::transmute::<usize, Routine>(routine)() };
    }
    mark(|| ());
}

/// What is found done was only looked at.
fn once(routine: Routine, call: impl FnOnce(Routine)) {
    let thread = if is_wanted() { current() } else { None };
    let Some(thread) = thread else {
        call(routine);
        return;
    };
    thread.keep_routine(routine as usize);
    call(work);
    if thread.take_routine().is_some() {
        mark(|| ());
    }
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_once(word: *mut i32, routine: Routine) -> i32 {
    let real = real!(fn pthread_once(*mut i32, Routine) -> i32);
    let mut result = 0;
    // SAFETY: passes on what the program passed.
    once(routine, |routine| result = unsafe { real(word, routine) });
    result
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn call_once(word: *mut i32, routine: Routine) {
    let real = real!(fn call_once(*mut i32, Routine));
    // SAFETY: passes on what the program passed.
    once(routine, |routine| unsafe { real(word, routine) });
}
