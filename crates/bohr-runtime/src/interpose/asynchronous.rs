//! `aio_read` and its kin: see [`requests`].

use super::{caller, interpose, notification::Event};
use crate::{
    clock::CLOCK,
    control, descriptors,
    real::real,
    requests::{self, Block, Request, Work},
};
use alloc::vec::Vec;
use core::{ffi::c_void, ptr::NonNull};

/// Answers of `aio_cancel`. Nothing is cancelled that is under way, as all is here.
const NOT_CANCELLED: i32 = 1;
const ALL_DONE: i32 = 2;

/// `lio_listio`: waits.
const WAIT: i32 = 0;

fn answer(result: Result<(), i32>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(error) => {
            // SAFETY: `errno` is always there.
            unsafe { *libc::__errno_location() = error };
            -1
        }
    }
}

fn submit(block: *mut Block, work: Work, place: u64) -> i32 {
    let request = NonNull::new(block).ok_or(libc::EINVAL);
    answer(request.and_then(|request| requests::submit(request, work, None, place)))
}

fn synchronise(kind: i32, block: *mut Block, place: u64) -> i32 {
    let data = kind == libc::O_DSYNC;
    match data || kind == libc::O_SYNC {
        true => submit(block, Work::Synchronise { data }, place),
        false => answer(Err(libc::EINVAL)),
    }
}

fn listed(list: *const *mut Block, count: i32) -> Vec<Request> {
    let each = 0..usize::try_from(count).unwrap_or(0);
    // SAFETY: the program passes so many, some of which may be null.
    each.filter_map(|number| NonNull::new(unsafe { *list.add(number) }))
        .collect()
}

fn suspend(list: *const *mut Block, count: i32, span: *const libc::timespec, place: u64) -> i32 {
    // SAFETY: null, or a time of the program.
    let deadline = unsafe { span.as_ref() }.map_or(u64::MAX, |span| CLOCK.after(span));
    let waited = requests::wait(&listed(list, count), false, deadline, place);
    answer(waited)
}

fn cancel(descriptor: i32, block: *mut Block) -> i32 {
    let request = NonNull::new(block);
    let is_other = |request: Request| requests::descriptor(request) != descriptor;
    match descriptors::status(descriptor) {
        None => answer(Err(libc::EBADF)),
        Some(_) if request.is_some_and(is_other) => answer(Err(libc::EINVAL)),
        Some(_) if requests::is_busy(descriptor, request) => NOT_CANCELLED,
        Some(_) => ALL_DONE,
    }
}

fn list(mode: i32, blocks: *const *mut Block, count: i32, event: *const Event, place: u64) -> i32 {
    let wanted: Vec<(Request, Work)> = listed(blocks, count)
        .into_iter()
        .filter_map(|request| {
            // SAFETY: the program's control block.
            let work = match unsafe { request.as_ref() }.code {
                libc::LIO_READ => Work::Read,
                libc::LIO_WRITE => Work::Write,
                _ => return None,
            };
            Some((request, work))
        })
        .collect();
    // SAFETY: null, or what the program wants to happen.
    let event = unsafe { event.as_ref() }.filter(|_| mode != WAIT);
    let batch = event.map(|event| requests::batch(*event));
    let mut result = Ok(());
    for &(request, work) in &wanted {
        let submitted = requests::submit(request, work, batch, place);
        result = result.and(submitted.map_err(|_| libc::EIO));
    }
    if let Some(batch) = batch.filter(|_| wanted.is_empty()) {
        requests::conclude(batch, place);
    }
    if mode == WAIT {
        let all: Vec<Request> = wanted.iter().map(|wanted| wanted.0).collect();
        let waited = requests::wait(&all, true, u64::MAX, place);
        let failed = all
            .iter()
            .any(|request| requests::state(*request, place) != 0);
        result = waited.and(result).and(match failed {
            true => Err(libc::EIO),
            false => Ok(()),
        });
    }
    answer(result)
}

/// The same functions under their old and their large-file names.
macro_rules! names {
    ($(($read:ident $write:ident $synchronise:ident $error:ident $return:ident $suspend:ident $cancel:ident $list:ident))*) => {$(
        interpose! {
            fn $read(block: *mut Block) -> i32 {
                let read = real!(fn $read(*mut Block) -> i32);
                match control::is_on() {
                    true => submit(block, Work::Read, caller()),
                    // SAFETY: passes on what the program passed.
                    false => unsafe { read(block) },
                }
            }

            fn $write(block: *mut Block) -> i32 {
                let write = real!(fn $write(*mut Block) -> i32);
                match control::is_on() {
                    true => submit(block, Work::Write, caller()),
                    // SAFETY: passes on what the program passed.
                    false => unsafe { write(block) },
                }
            }

            fn $synchronise(kind: i32, block: *mut Block) -> i32 {
                let call = real!(fn $synchronise(i32, *mut Block) -> i32);
                match control::is_on() {
                    true => synchronise(kind, block, caller()),
                    // SAFETY: passes on what the program passed.
                    false => unsafe { call(kind, block) },
                }
            }

            fn $error(block: *mut Block) -> i32 {
                let error = real!(fn $error(*mut Block) -> i32);
                match NonNull::new(block) {
                    Some(request) if control::is_on() => requests::state(request, caller()),
                    // SAFETY: passes on what the program passed.
                    _ => unsafe { error(block) },
                }
            }

            fn $return(block: *mut Block) -> isize {
                let result = real!(fn $return(*mut Block) -> isize);
                match NonNull::new(block) {
                    Some(request) if control::is_on() => requests::result(request),
                    // SAFETY: passes on what the program passed.
                    _ => unsafe { result(block) },
                }
            }

            fn $suspend(blocks: *const *mut Block, count: i32, span: *const libc::timespec) -> i32 {
                let call = real!(fn $suspend(*const *mut Block, i32, *const libc::timespec) -> i32);
                match control::is_on() {
                    true => suspend(blocks, count, span, caller()),
                    // SAFETY: passes on what the program passed.
                    false => unsafe { call(blocks, count, span) },
                }
            }

            fn $cancel(descriptor: i32, block: *mut Block) -> i32 {
                let call = real!(fn $cancel(i32, *mut Block) -> i32);
                match control::is_on() {
                    true => cancel(descriptor, block),
                    // SAFETY: passes on what the program passed.
                    false => unsafe { call(descriptor, block) },
                }
            }

            fn $list(mode: i32, blocks: *const *mut Block, count: i32, event: *const c_void) -> i32 {
                let call = real!(fn $list(i32, *const *mut Block, i32, *const c_void) -> i32);
                match control::is_on() {
                    true => list(mode, blocks, count, event.cast::<Event>(), caller()),
                    // SAFETY: passes on what the program passed.
                    false => unsafe { call(mode, blocks, count, event) },
                }
            }
        }
    )*};
}

names! {
    (aio_read aio_write aio_fsync aio_error aio_return aio_suspend aio_cancel lio_listio)
    (aio_read64 aio_write64 aio_fsync64 aio_error64 aio_return64 aio_suspend64 aio_cancel64 lio_listio64)
}
