//! Whether a run has left something in the kernel that copying memory back does
//! not undo: a mapping, a descriptor, an attribute of the process.
//!
//! Every system call on behalf of the program comes by here, whoever makes it.
//! What is not known to be fleeting is lasting.

pub mod mappings;
pub mod withheld;

use crate::carrier::CarrierOnly;
use core::cell::Cell;

#[unsafe(link_section = "bohr_hot")]
static LASTING: CarrierOnly<Cell<bool>> = CarrierOnly::new(Cell::new(false));

/// Something was done that outlasts the memory of this run.
#[inline]
pub fn leave() {
    LASTING.set(true);
}

/// What was done so far belongs to every run.
pub fn forget() {
    LASTING.set(false);
    mappings::forget();
}

/// Whether nothing has been left since.
pub fn is_clean() -> bool {
    !LASTING.get()
}

/// Whether a system call changes nothing but memory, the world outside, and
/// offsets of files, which are set back for every run. Known at compile time for
/// the calls of the runtime's own.
#[inline]
pub const fn is_fleeting(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_read
            | libc::SYS_write
            | libc::SYS_readv
            | libc::SYS_writev
            | libc::SYS_pread64
            | libc::SYS_pwrite64
            | libc::SYS_preadv
            | libc::SYS_pwritev
            | libc::SYS_preadv2
            | libc::SYS_pwritev2
            | libc::SYS_lseek
            | libc::SYS_stat
            | libc::SYS_fstat
            | libc::SYS_lstat
            | libc::SYS_newfstatat
            | libc::SYS_statx
            | libc::SYS_access
            | libc::SYS_faccessat
            | libc::SYS_faccessat2
            | libc::SYS_readlink
            | libc::SYS_readlinkat
            | libc::SYS_getcwd
            | libc::SYS_poll
            | libc::SYS_ppoll
            | libc::SYS_select
            | libc::SYS_pselect6
            | libc::SYS_epoll_wait
            | libc::SYS_epoll_pwait
            | libc::SYS_epoll_pwait2
            | libc::SYS_futex
            | libc::SYS_sched_yield
            | libc::SYS_sched_getaffinity
            | libc::SYS_getcpu
            | libc::SYS_getpid
            | libc::SYS_gettid
            | libc::SYS_getppid
            | libc::SYS_getuid
            | libc::SYS_geteuid
            | libc::SYS_getgid
            | libc::SYS_getegid
            | libc::SYS_uname
            | libc::SYS_sysinfo
            | libc::SYS_getrlimit
            | libc::SYS_getrusage
            | libc::SYS_times
            | libc::SYS_time
            | libc::SYS_gettimeofday
            | libc::SYS_clock_gettime
            | libc::SYS_clock_getres
            | libc::SYS_nanosleep
            | libc::SYS_clock_nanosleep
            | libc::SYS_getrandom
            | libc::SYS_get_robust_list
            | libc::SYS_process_vm_readv
            | libc::SYS_mincore
            | libc::SYS_exit_group
    )
}

/// Whether a call that could change something only asks.
pub fn only_asks(number: i64, [_, second, third, ..]: [usize; 6]) -> bool {
    match number {
        libc::SYS_ioctl => [libc::TCGETS, libc::TIOCGWINSZ, libc::FIONREAD]
            .iter()
            .any(|&question| question as usize == second),
        libc::SYS_fcntl => [libc::F_GETFL, libc::F_GETFD].contains(&(second as i32)),
        libc::SYS_rt_sigaction | libc::SYS_rt_sigprocmask => second == 0,
        libc::SYS_prlimit64 => third == 0,
        _ => false,
    }
}
