//! Functions of the C library that the runtime shadows: one file per subject.
//!
//! Each is called in place of the C library's, notes where it was called from,
//! and goes to the engine if the program is under control, else to the real one.

use crate::grant::{CALL_SITE, CALLER};

pub mod affinity;
pub mod asynchronous;
pub mod barrier;
pub mod cancel;
pub mod condition;
pub mod exit;
pub mod futex;
pub mod guard;
pub mod input_output;
pub mod keys;
pub mod loading;
pub mod machine;
pub mod memory;
pub mod mutex;
pub mod named;
pub mod notification;
pub mod object;
pub mod once;
pub mod outside;
pub mod pieces;
pub mod polling;
pub mod priority;
pub mod process;
pub mod random;
pub mod robust;
pub mod rwlock;
pub mod semaphore;
pub mod signal;
pub mod signal_wait;
pub mod spinlock;
pub mod thread;
pub mod threads_h;
pub mod time;
pub mod timer;

/// Defines functions under names of the C library. The first instructions keep
/// the return address, which says where in the program the call is; no other
/// register is touched, so the arguments arrive as they are.
macro_rules! interpose {
    ($(fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        const _: () = {
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C-unwind" fn $name() {
                core::arch::naked_asm!(
                    "mov r11, [rsp]",
                    "mov [rip + {caller}], r11",
                    "jmp {inner}",
                    caller = sym $crate::grant::CALLER,
                    inner = sym inner,
                )
            }

            #[allow(clippy::too_many_arguments)]
            unsafe extern "C-unwind" fn inner($($argument: $kind),*) $(-> $result)? $body
        };
    )*};
}
pub(crate) use interpose;

/// Where the interposed function that runs now was called from: a site of an
/// instrumented module if it has said so, or the return address.
#[inline]
pub fn caller() -> u64 {
    match CALL_SITE.get() {
        0 => CALLER.get(),
        site => {
            CALL_SITE.set(0);
            site
        }
    }
}
