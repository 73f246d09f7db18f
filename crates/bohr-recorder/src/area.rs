//! The file that everything is written to.

use bohr_event::recording::{CHUNK, HEADER_MAGIC, HeaderWord, RECORDING_VARIABLE};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};

/// The header, once the file is open.
static HEADER: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());
static FILE: AtomicI32 = AtomicI32::new(-1);

/// A word of the header.
pub fn header(word: HeaderWord) -> Option<&'static AtomicU64> {
    let header = HEADER.load(Ordering::Acquire);
    // SAFETY: null, or a whole piece that stays mapped.
    unsafe { header.cast_const().add(word as usize).as_ref() }.filter(|_| !header.is_null())
}

/// Opens the file that the environment names. Before the program's first
/// instruction, so what allocates may.
pub fn open(program: &[u8; 32]) -> bool {
    let name = c"BOHR_RECORDING";
    debug_assert_eq!(name.to_str(), Ok(RECORDING_VARIABLE));
    // SAFETY: no other thread runs yet that could change the environment, and the
    // kernel gets a terminated path.
    let file = unsafe {
        let path = libc::getenv(name.as_ptr());
        if path.is_null() {
            return false;
        }
        out_of_the_way(libc::open(path, libc::O_RDWR | libc::O_CLOEXEC))
    };
    let Some(words) = map(file, 0) else {
        return false;
    };
    // SAFETY: a whole piece was mapped.
    let magic = unsafe { (*words).load(Ordering::Relaxed) };
    if magic != HEADER_MAGIC {
        return false;
    }
    FILE.store(file, Ordering::Relaxed);
    HEADER.store(words, Ordering::Release);
    for (at, part) in program.chunks_exact(8).enumerate() {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(part);
        // SAFETY: within the piece.
        let word = unsafe { &*words.add(HeaderWord::Bundle as usize + at) };
        word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
    }
    true
}

/// Above the numbers that programs count on.
const HIGH: i32 = 900;

/// Gives a file a number that leaves the program those that it would have without it.
fn out_of_the_way(file: i32) -> i32 {
    // SAFETY: a file of ours, which nobody else knows yet.
    unsafe {
        let high = libc::fcntl(file, libc::F_DUPFD_CLOEXEC, HIGH);
        if high < 0 {
            return file;
        }
        libc::close(file);
        high
    }
}

/// Another piece, mapped and all zero; `None` if the disk is full.
pub fn another() -> Option<*mut u64> {
    let number = header(HeaderWord::Chunks)?.fetch_add(1, Ordering::Relaxed);
    let file = FILE.load(Ordering::Relaxed);
    let offset = number.checked_mul(CHUNK as u64)? as i64;
    // A page that cannot be had later would end the program.
    // By number: under their names these calls are where a cancelled thread ends.
    // SAFETY: reserves space in a file of ours.
    let reserved = unsafe { libc::syscall(libc::SYS_fallocate, file, 0, offset, CHUNK) };
    if reserved != 0 {
        header(HeaderWord::Full)?.store(1, Ordering::Relaxed);
        return None;
    }
    map(file, offset).map(<*mut AtomicU64>::cast)
}

fn map(file: i32, offset: i64) -> Option<*mut AtomicU64> {
    if file < 0 {
        return None;
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of a file that bohr has made long enough.
    let start = unsafe { libc::mmap(null_mut(), CHUNK, access, libc::MAP_SHARED, file, offset) };
    (start != libc::MAP_FAILED).then_some(start.cast())
}

/// Writes a piece that is full to another place of the file, so that it can be used
/// again: memory that stays where it is costs no faults. `false` if the disk is full.
///
/// # Safety
/// `piece` must be one that only the calling thread uses.
pub unsafe fn put_by(piece: *const u64) -> bool {
    let number = header(HeaderWord::Chunks).map(|word| word.fetch_add(1, Ordering::Relaxed));
    let offset = number.and_then(|number| number.checked_mul(CHUNK as u64));
    let Some(offset) = offset else {
        return false;
    };
    let file = FILE.load(Ordering::Relaxed);
    let mut done = 0;
    while done < CHUNK {
        // SAFETY: the rest of a piece, to a file of ours.
        let written = unsafe {
            let rest = piece.cast::<u8>().add(done);
            libc::syscall(
                libc::SYS_pwrite64,
                file,
                rest,
                CHUNK - done,
                offset as usize + done,
            )
        };
        match written {
            1.. => done += written as usize,
            // SAFETY: every thread has its own.
            _ if written < 0 && unsafe { *libc::__errno_location() } == libc::EINTR => {}
            _ => {
                if let Some(full) = header(HeaderWord::Full) {
                    full.store(1, Ordering::Relaxed);
                }
                return false;
            }
        }
    }
    true
}
