//! Whether the serial part of a program can be shared by runs: whether all that
//! it did is in memory, which is cloned, or harms nobody if it is done once.
//!
//! What is not known to be harmless is an obstacle.

use crate::{
    addresses, carrier::CarrierOnly, channel::LOWEST_DESCRIPTOR, control, descriptors::status,
    footprint, image, notices, outpost, system,
};
use bohr_event::control::{Notice, Obstacle};
use core::cell::Cell;

/// Descriptors looked at.
const LOOKED_AT: usize = LOWEST_DESCRIPTOR;

/// Shared mappings of the runtime's own at `main`: the ledger.
const OWN_SHARED: usize = 1;

struct Beginning {
    /// One bit per descriptor that was open at `main`.
    open: [Cell<u64>; LOOKED_AT.div_ceil(64)],
    /// Writable mappings that were shared then.
    shared: Cell<usize>,
    /// What a system call of the serial part has put in the way.
    noted: Cell<Option<Obstacle>>,
}

static BEGINNING: CarrierOnly<Beginning> = CarrierOnly::new(Beginning {
    open: [const { Cell::new(0) }; LOOKED_AT.div_ceil(64)],
    shared: Cell::new(0),
    noted: Cell::new(None),
});

/// Calls that change nothing outside of this process, or nothing that clones do
/// not inherit.
const HARMLESS: &[i64] = &[
    libc::SYS_read,
    libc::SYS_close,
    libc::SYS_stat,
    libc::SYS_fstat,
    libc::SYS_lstat,
    libc::SYS_poll,
    libc::SYS_lseek,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_brk,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_access,
    libc::SYS_sched_yield,
    libc::SYS_mremap,
    libc::SYS_mincore,
    libc::SYS_madvise,
    libc::SYS_dup,
    libc::SYS_dup2,
    libc::SYS_nanosleep,
    libc::SYS_getpid,
    libc::SYS_uname,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_readlink,
    libc::SYS_umask,
    libc::SYS_gettimeofday,
    libc::SYS_getrlimit,
    libc::SYS_getrusage,
    libc::SYS_sysinfo,
    libc::SYS_times,
    libc::SYS_getuid,
    libc::SYS_getgid,
    libc::SYS_geteuid,
    libc::SYS_getegid,
    libc::SYS_getppid,
    libc::SYS_getpgrp,
    libc::SYS_sigaltstack,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_prctl,
    libc::SYS_arch_prctl,
    libc::SYS_setrlimit,
    libc::SYS_gettid,
    libc::SYS_time,
    libc::SYS_futex,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_getaffinity,
    libc::SYS_getdents64,
    libc::SYS_set_tid_address,
    libc::SYS_fadvise64,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_exit_group,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_ctl,
    libc::SYS_newfstatat,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_epoll_create1,
    libc::SYS_dup3,
    libc::SYS_eventfd2,
    libc::SYS_pipe2,
    libc::SYS_preadv,
    libc::SYS_prlimit64,
    libc::SYS_getcpu,
    libc::SYS_getrandom,
    libc::SYS_membarrier,
    libc::SYS_mlock2,
    libc::SYS_statx,
    libc::SYS_rseq,
    libc::SYS_faccessat2,
];

/// At `main`.
pub fn note_beginning() {
    for descriptor in 0..LOOKED_AT {
        if status(descriptor as i32).is_some() {
            let word = &BEGINNING.open[descriptor / 64];
            word.set(word.get() | 1 << (descriptor % 64));
        }
    }
    let shared = shared_mappings();
    if shared > OWN_SHARED {
        notices::note(Notice::SharedMemory);
    }
    BEGINNING.shared.set(shared);
}

/// A system call is about to be made. Of the serial part all are seen, but those
/// of interposed functions, which leave open descriptors or a notice.
pub fn note_call(number: i64, arguments: [usize; 6]) {
    let matters = outpost::is_hoped_for() || image::is_hoped_for();
    if !matters || BEGINNING.noted.get().is_some() {
        return;
    }
    let harmless = HARMLESS.contains(&number) || is_harmless(number, arguments);
    if !harmless {
        let obstacle = match number {
            libc::SYS_open | libc::SYS_openat | libc::SYS_creat => Obstacle::Writing,
            libc::SYS_mmap => Obstacle::SharedMemory,
            _ => Obstacle::SystemCall(number as u32),
        };
        BEGINNING.noted.set(Some(obstacle));
    }
}

/// Calls that depend on what they are asked for.
fn is_harmless(number: i64, arguments: [usize; 6]) -> bool {
    let [first, second, third, fourth, ..] = arguments;
    const CHANGING: i32 = libc::O_CREAT | libc::O_TRUNC | libc::O_TMPFILE & !libc::O_DIRECTORY;
    let only_reads = |flags: usize| {
        flags as i32 & libc::O_ACCMODE == libc::O_RDONLY && flags as i32 & CHANGING == 0
    };
    match number {
        libc::SYS_open => only_reads(second),
        libc::SYS_openat => only_reads(third),
        libc::SYS_mmap => {
            third as i32 & libc::PROT_WRITE == 0 || fourth as i32 & libc::MAP_SHARED == 0
        }
        // Where output goes is seen to; other files were opened for writing.
        libc::SYS_write | libc::SYS_writev => (1..=2).contains(&first),
        libc::SYS_ioctl => {
            // Whether a descriptor is closed by `exec` is a matter of the process.
            let of_process = [libc::FIOCLEX, libc::FIONCLEX].map(|asked| asked as usize);
            of_process.contains(&second) || footprint::only_asks(number, arguments)
        }
        libc::SYS_fcntl => ![
            libc::F_SETLK,
            libc::F_SETLKW,
            libc::F_OFD_SETLK,
            libc::F_OFD_SETLKW,
        ]
        .contains(&(second as i32)),
        _ => false,
    }
}

/// At the end of the serial part: what stands in the way of sharing it.
pub fn find() -> Option<Obstacle> {
    if !control::is_dispatching() {
        return Some(Obstacle::Unseen);
    }
    if notices::is_noted(Notice::Process) {
        return Some(Obstacle::Process);
    }
    if shared_mappings() > BEGINNING.shared.get() {
        return Some(Obstacle::SharedMemory);
    }
    BEGINNING.noted.get().or_else(descriptor)
}

/// A descriptor that has come since `main` and cannot be shared.
fn descriptor() -> Option<Obstacle> {
    (3..LOOKED_AT).find_map(|descriptor| {
        let known = BEGINNING.open[descriptor / 64].get() >> (descriptor % 64) & 1 != 0;
        let status = status(descriptor as i32).filter(|_| !known)?;
        match status.st_mode & libc::S_IFMT {
            libc::S_IFREG if is_written(descriptor) => Some(Obstacle::Writing),
            libc::S_IFREG | libc::S_IFDIR | libc::S_IFCHR | libc::S_IFBLK => None,
            _ => Some(Obstacle::Stream),
        }
    })
}

fn is_written(descriptor: usize) -> bool {
    let arguments = [descriptor, libc::F_GETFL as usize, 0, 0, 0, 0];
    // SAFETY: asks only.
    let flags = unsafe { system::try_call(libc::SYS_fcntl, arguments) };
    flags.is_ok_and(|flags| flags as i32 & libc::O_ACCMODE != libc::O_RDONLY)
}

/// How many mappings can be written and are shared, the runtime's own trace
/// aside.
fn shared_mappings() -> usize {
    let text = system::file(c"/proc/self/maps").unwrap_or_default();
    let lines = text.split(|&byte| byte == b'\n');
    let lines = lines.filter(|line| !is_trace(line));
    let rights = lines.filter_map(|line| line.split(|&byte| byte == b' ').nth(1));
    rights
        .filter(|rights| matches!(rights, [_, b'w', _, b's']))
        .count()
}

/// Whether a line of the kernel's list is about the trace that is being written.
fn is_trace(line: &[u8]) -> bool {
    let start = line.split(|&byte| byte == b'-').next();
    let start = start.and_then(|start| core::str::from_utf8(start).ok());
    let start = start.and_then(|start| usize::from_str_radix(start, 16).ok());
    start.is_some_and(|start| (addresses::TRACE..addresses::ARENA).contains(&start))
}
