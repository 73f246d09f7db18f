//! Marks for Rust programs that are built with bohr. Without bohr they cost a
//! register move and change nothing.
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
