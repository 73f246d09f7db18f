//! What a run does where its other runs see it: files that it writes, names and ports
//! that it takes. Runs that do such things cannot be made side by side; the explorer
//! is told.

use crate::{notices, peek::peek};
use bohr_event::control::Notice;

/// What is written there is nobody else's to read.
const OWN: [&[u8]; 3] = [b"/dev/", b"/proc/", b"/sys/"];
/// With this exception.
const SHARED: &[u8] = b"/dev/shm/";

/// A system call is about to be made.
pub fn note_call(number: i64, arguments: [usize; 6]) {
    if !notices::is_noted(Notice::Outlasting) && is_seen_by_others(number, arguments) {
        notices::note(Notice::Outlasting);
    }
}

fn is_seen_by_others(number: i64, arguments: [usize; 6]) -> bool {
    let [first, second, third, ..] = arguments;
    let opened = |path: usize, flags: usize| changes(flags as i32) && is_common(path);
    match number {
        libc::SYS_open => opened(first, second),
        libc::SYS_openat => opened(second, third),
        libc::SYS_openat2 => peek(third, 8).is_some_and(|flags| opened(second, flags as usize)),
        libc::SYS_creat
        | libc::SYS_rename
        | libc::SYS_link
        | libc::SYS_unlink
        | libc::SYS_mkdir
        | libc::SYS_rmdir
        | libc::SYS_mknod
        | libc::SYS_truncate
        | libc::SYS_chmod
        | libc::SYS_chown
        | libc::SYS_lchown
        | libc::SYS_utime
        | libc::SYS_utimes
        | libc::SYS_setxattr
        | libc::SYS_lsetxattr
        | libc::SYS_removexattr
        | libc::SYS_lremovexattr => is_common(first),
        libc::SYS_symlink => is_common(second),
        libc::SYS_renameat
        | libc::SYS_renameat2
        | libc::SYS_linkat
        | libc::SYS_unlinkat
        | libc::SYS_mkdirat
        | libc::SYS_mknodat
        | libc::SYS_fchmodat
        | libc::SYS_fchownat
        | libc::SYS_futimesat => is_common(second),
        // Without a name it is about a descriptor, which may be a file's.
        libc::SYS_utimensat => second == 0 || is_common(second),
        libc::SYS_fchmod | libc::SYS_fchown | libc::SYS_fsetxattr | libc::SYS_fremovexattr => true,
        libc::SYS_symlinkat => is_common(third),
        libc::SYS_mq_open => second as i32 & libc::O_CREAT != 0,
        libc::SYS_shmget | libc::SYS_semget | libc::SYS_msgget => first as i32 != libc::IPC_PRIVATE,
        libc::SYS_bind => is_named(second, third),
        _ => false,
    }
}

/// Whether a file that is opened so may become another.
fn changes(flags: i32) -> bool {
    // A file without a name is nobody else's.
    let nameless = flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
    !nameless && (writes || flags & (libc::O_CREAT | libc::O_TRUNC) != 0)
}

fn is_common(path: usize) -> bool {
    let begins = |prefix: &[u8]| {
        let mut bytes = prefix.iter().enumerate();
        bytes.all(|(at, byte)| peek(path.wrapping_add(at), 1) == Some(u64::from(*byte)))
    };
    begins(SHARED) || !OWN.iter().any(|prefix| begins(prefix))
}

/// Whether an address of a socket is one that only one socket can have, and not the
/// kernel's to choose.
fn is_named(address: usize, length: usize) -> bool {
    let word = |at: usize| peek(address.wrapping_add(at), 2).unwrap_or(0);
    match word(0) as i32 {
        libc::AF_INET | libc::AF_INET6 => word(2) != 0,
        libc::AF_UNIX => length > size_of::<libc::sa_family_t>(),
        _ => false,
    }
}
