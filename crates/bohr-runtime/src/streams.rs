//! What the C library reads for the buffers of `fgets`, `fread`, `scanf` and the rest
//! of them, where a recorded run has read it. They all call the same function for it,
//! through a table that streams have in common and that can be found by its name; an
//! entry of ours stands in its place, as it does while a run is recorded.

use crate::{given, outside, system};
use core::{
    ffi::CStr,
    mem,
    sync::atomic::{AtomicUsize, Ordering},
};
use libc::{FILE, c_void};

type Read = unsafe extern "C-unwind" fn(*mut FILE, *mut c_void, isize) -> isize;

/// Streams of bytes, and of wide characters.
const TABLES: [&CStr; 2] = [c"_IO_file_jumps", c"_IO_wfile_jumps"];
/// What is in them for reading.
const READ: &CStr = c"_IO_file_read";
/// Entries that a table has at least, and that one for reading is among.
const ENTRIES: usize = 20;
const PAGE: usize = 4096;

/// Where a stream says, in one bit, that it must not be cancelled: the C library opens
/// those so that it reads itself, for the names of users and hosts, time zones, and
/// the stack of the main thread. They are its own business, as it may do without.
const FLAGS: usize = 116;
const NOT_CANCELLED: u32 = 2;

static REAL: AtomicUsize = AtomicUsize::new(0);

/// From now on, reads for buffers come by here; once, in the template. Another C
/// library has no such tables, and is left as it is.
pub fn watch() {
    // SAFETY: names end with a zero.
    let real = unsafe { libc::dlsym(libc::RTLD_DEFAULT, READ.as_ptr()) } as usize;
    if real == 0 {
        return;
    }
    REAL.store(real, Ordering::Relaxed);
    for table in TABLES {
        // SAFETY: as above.
        let table = unsafe { libc::dlsym(libc::RTLD_DEFAULT, table.as_ptr()) };
        let table: *mut usize = table.cast();
        let entries = if table.is_null() { 0 } else { ENTRIES };
        for at in 0..entries {
            // SAFETY: within the table.
            unsafe {
                if *table.add(at) == real {
                    put(table.add(at));
                }
            }
        }
    }
}

/// Puts ours in the place of an entry, which is read-only outside of this.
///
/// # Safety
/// The entry must be one of such a table.
unsafe fn put(entry: *mut usize) {
    let page = entry as usize & !(PAGE - 1);
    let writable = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // SAFETY: one page of the C library's data, in which one word is replaced by
    // another function of its kind.
    unsafe {
        let opened = system::try_call(libc::SYS_mprotect, [page, PAGE, writable, 0, 0, 0]);
        if opened.is_ok() {
            *entry = read as *const () as usize;
            let readable = libc::PROT_READ as usize;
            system::call(libc::SYS_mprotect, [page, PAGE, readable, 0, 0, 0]);
        }
    }
}

/// Goes on to the real one, as if nothing were in front of it, unless something is
/// given in this run.
#[unsafe(naked)]
unsafe extern "C-unwind" fn read() {
    core::arch::naked_asm!(
        "cmp byte ptr [rip + {any}], 0",
        "jne {inner}",
        "jmp [rip + {real}]",
        any = sym given::ANY,
        real = sym REAL,
        inner = sym inner,
    )
}

unsafe extern "C-unwind" fn inner(stream: *mut FILE, buffer: *mut c_void, length: isize) -> isize {
    // SAFETY: kept by `watch`; the caller's own arguments.
    unsafe {
        let given = match is_internal(stream) {
            true => None,
            false => {
                let length = usize::try_from(length).unwrap_or(0);
                outside::read_into(libc::fileno(stream), buffer, length)
            }
        };
        let real = mem::transmute::<usize, Read>(REAL.load(Ordering::Relaxed));
        given.unwrap_or_else(|| real(stream, buffer, length))
    }
}

/// Whether the program has not opened a stream itself.
unsafe fn is_internal(stream: *const FILE) -> bool {
    // SAFETY: a stream, of which this word has been where it is for ever.
    unsafe { stream.byte_add(FLAGS).cast::<u32>().read() & NOT_CANCELLED != 0 }
}
