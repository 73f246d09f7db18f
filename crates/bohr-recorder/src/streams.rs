//! What the C library reads for the buffers of `fgets`, `fread`, `scanf` and the rest
//! of them. They all call the same function for it, through a table of functions that
//! streams have in common and that can be found by its name; an entry of ours stands
//! in its place. So nothing is shadowed that only takes from a buffer.

use crate::reading::has_read;
use core::ffi::CStr;
use core::mem;
use core::sync::atomic::{AtomicUsize, Ordering};
use libc::{FILE, c_void};

type Read = unsafe extern "C-unwind" fn(*mut FILE, *mut c_void, isize) -> isize;

/// Streams of bytes, and of wide characters.
const TABLES: [&CStr; 2] = [c"_IO_file_jumps", c"_IO_wfile_jumps"];
/// What is in them for reading.
const READ: &CStr = c"_IO_file_read";
/// Entries that a table has at least, and that one for reading is among.
const ENTRIES: usize = 20;

/// Where a stream says, in one bit, that it must not be cancelled: the C library opens
/// those so that it reads itself, for the names of users and hosts, time zones, and
/// the stack of the main thread. They are its own business, as it may do without.
const FLAGS: usize = 116;
const NOT_CANCELLED: u32 = 2;

static REAL: AtomicUsize = AtomicUsize::new(0);

/// From now on, reads for buffers are seen. Before there is a second thread. Another C
/// library has no such tables, and is left as it is.
pub fn watch() {
    // SAFETY: names end with a zero.
    let real = unsafe { libc::dlsym(libc::RTLD_DEFAULT, READ.as_ptr()) };
    if real.is_null() {
        return;
    }
    REAL.store(real as usize, Ordering::Relaxed);
    for table in TABLES {
        // SAFETY: as above.
        let table = unsafe { libc::dlsym(libc::RTLD_DEFAULT, table.as_ptr()) };
        let table: *mut usize = table.cast();
        if table.is_null() {
            continue;
        }
        for at in 0..ENTRIES {
            // SAFETY: within the table.
            let entry = unsafe { table.add(at) };
            // SAFETY: as above.
            if unsafe { *entry } == real as usize {
                put(entry);
            }
        }
    }
}

/// Puts ours in the place of an entry, which is read-only outside of this.
fn put(entry: *mut usize) {
    const PAGE: usize = 4096;
    let page = (entry as usize & !(PAGE - 1)) as *mut c_void;
    let own: Read = read;
    // SAFETY: one page of the C library's data, in which one word is replaced by
    // another function of its kind.
    unsafe {
        if libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) == 0 {
            *entry = own as usize;
            libc::mprotect(page, PAGE, libc::PROT_READ);
        }
    }
}

unsafe extern "C-unwind" fn read(stream: *mut FILE, buffer: *mut c_void, length: isize) -> isize {
    // SAFETY: kept by `watch`; the caller's own arguments, and what it got.
    unsafe {
        let real = mem::transmute::<usize, Read>(REAL.load(Ordering::Relaxed));
        let returned = real(stream, buffer, length);
        if !is_internal(stream) {
            let length = length.max(0) as usize;
            has_read(libc::fileno(stream), buffer, length, returned);
        }
        returned
    }
}

/// Whether the program has not opened a stream itself.
unsafe fn is_internal(stream: *const FILE) -> bool {
    // SAFETY: a stream, of which this word has been where it is for ever.
    unsafe { stream.byte_add(FLAGS).cast::<u32>().read() & NOT_CANCELLED != 0 }
}
