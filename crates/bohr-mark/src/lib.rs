//! Marks and assertions for Rust programs that are hunted with bohr.
//!
//! [`bohr_assert!`] and [`bohr_fail!`] end a run at once, as a failed `assert` of C
//! does: nobody can catch that, and no destructor runs.
//!
//! ```
//! let sum = 2 + 2;
//! bohr_mark::bohr_assert!(sum == 4);
//! if sum != 4 {
//!     bohr_mark::bohr_fail!("two and two make four");
//! }
//! ```
//!
//! Without bohr, marks cost a register move and change nothing.
//!
//! ```
//! let mut handled = 0;
//! for _request in 0..3 {
//!     bohr_mark::block! {
//!         handled += 1;
//!     }
//! }
//! assert_eq!(handled, 3);
//! ```

#![no_std]

/// Marks a block whose passes bohr may leave out one by one when it reduces an
/// execution: the body of a loop, the handling of one request. What it computes
/// must not be needed after it when it is left out.
#[macro_export]
macro_rules! block {
    ($($body:tt)*) => {
        if $crate::enter::<{ $crate::place(file!(), line!(), column!()) }>() {
            $($body)*
        }
    };
}

/// Fails the run unless the condition holds, in every build profile.
#[macro_export]
macro_rules! bohr_assert {
    ($condition:expr $(,)?) => {
        if !$condition {
            $crate::bohr_fail!(stringify!($condition));
        }
    };
}

/// Fails the run, with a literal as the message.
#[macro_export]
macro_rules! bohr_fail {
    ($message:expr $(,)?) => {
        $crate::fail(
            concat!($message, "\0"),
            concat!(file!(), "\0"),
            line!(),
            concat!(module_path!(), "\0"),
        )
    };
}

/// Ends the process as a failed assertion of C does. All texts end with a zero.
///
/// # Panics
/// If one of them does not.
#[doc(hidden)]
pub fn fail(message: &str, file: &str, line: u32, function: &str) -> ! {
    unsafe extern "C" {
        fn __assert_fail(
            expression: *const u8,
            file: *const u8,
            line: u32,
            function: *const u8,
        ) -> !;
    }
    assert!(
        [message, file, function]
            .iter()
            .all(|text| text.ends_with('\0'))
    );
    // SAFETY: the C library reads three texts, each up to its zero.
    unsafe { __assert_fail(message.as_ptr(), file.as_ptr(), line, function.as_ptr()) }
}

/// A number for a place in the source (FNV-1a).
#[doc(hidden)]
#[must_use]
pub const fn place(file: &str, line: u32, column: u32) -> u64 {
    let bytes = file.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ ((line as u64) << 32 | column as u64);
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// A `true` that the compiler cannot see through, and that bohr can make false.
#[doc(hidden)]
#[inline(always)]
#[must_use]
pub fn enter<const PLACE: u64>() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let mut enter: u32 = 1;
        // SAFETY: no instruction, only a comment that bohr looks for. Not
        // `pure`: every pass is a pass of its own.
        unsafe {
            core::arch::asm!(
                "/* bohr.rcb {1} {0:e} */",
                inout(reg) enter,
                const PLACE,
                options(nomem, nostack, preserves_flags)
            );
        }
        enter != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    true
}
