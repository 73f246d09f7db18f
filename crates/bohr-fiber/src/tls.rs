//! The FS base: where thread-local storage begins.

use crate::FiberError;

/// Bit of `AT_HWCAP2` by which the kernel says that it lets user code write it.
const HWCAP2_FSGSBASE: u64 = 1 << 1;

/// Whether fibers are possible here.
pub(crate) fn require_fs_base() -> Result<(), FiberError> {
    // SAFETY: `getauxval` only reads the auxiliary vector.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    if capabilities & HWCAP2_FSGSBASE == 0 {
        return Err(FiberError::NoFsBase);
    }
    Ok(())
}

/// The FS base of the running thread or fiber. Call [`require_fs_base`] first.
pub(crate) fn fs_base() -> usize {
    let base;
    // SAFETY: reads a register; the caller has checked that the instruction exists.
    unsafe {
        core::arch::asm!("rdfsbase {}", out(reg) base, options(nomem, nostack, preserves_flags));
    }
    base
}
