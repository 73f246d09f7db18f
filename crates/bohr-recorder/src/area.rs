//! The file that everything is written to.

use bohr_event::recording::{CHUNK, HEADER_MAGIC, HeaderWord, RECORDING_VARIABLE};
use core::ffi::c_void;
use core::ptr::{null_mut, with_exposed_provenance_mut};
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
        libc::open(path, libc::O_RDWR | libc::O_CLOEXEC)
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

/// Another piece, all zero; `None` if the disk is full.
pub fn another() -> Option<*mut u64> {
    let number = header(HeaderWord::Chunks)?.fetch_add(1, Ordering::Relaxed);
    let file = FILE.load(Ordering::Relaxed);
    let offset = number.checked_mul(CHUNK as u64)? as i64;
    // A page that cannot be had later would end the program.
    // SAFETY: reserves space in a file of ours.
    let reserved = unsafe { libc::fallocate(file, 0, offset, CHUNK as i64) };
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

/// Gives a piece back that is full; what was written stays in the file.
///
/// # Safety
/// `end` must be the end of a piece that nobody uses.
pub unsafe fn forget(end: u64) {
    let start: *mut c_void = with_exposed_provenance_mut(end as usize - CHUNK);
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(start, CHUNK) };
}
