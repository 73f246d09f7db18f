//! How large a block of the heap is, as the allocator of the process tells.

use core::ffi::{CStr, c_void};
use core::mem::zeroed;

/// `malloc_usable_size` of whoever also has the process's `free`; an allocator that
/// does not say how large its blocks are is not asked.
#[derive(Clone, Copy)]
pub struct Heap(Option<extern "C" fn(*mut c_void) -> usize>);

impl Heap {
    /// Looked up once, before the program begins.
    pub fn of_process() -> Heap {
        let (free, size) = (symbol(c"free"), symbol(c"malloc_usable_size"));
        let same = object_of(free) == object_of(size) && object_of(size).is_some();
        Heap(same.then(|| {
            // SAFETY: the symbol of that name is this function in every C library,
            // and found, since it lies in an object.
            unsafe {
                core::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void) -> usize>(size)
            }
        }))
    }

    /// Bytes of the block at this address, which the program is about to free; 0 if
    /// nobody knows.
    pub fn size_of_block(&self, address: u64) -> u64 {
        match self.0 {
            Some(size) if address != 0 => size(address as *mut c_void) as u64,
            _ => 0,
        }
    }
}

fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends with a zero.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Where the object begins that a symbol lies in.
fn object_of(symbol: *mut c_void) -> Option<usize> {
    // SAFETY: plain data that the call fills in.
    let mut found: libc::Dl_info = unsafe { zeroed() };
    // SAFETY: any address may be asked about.
    let known = unsafe { libc::dladdr(symbol, &raw mut found) } != 0;
    (known && !symbol.is_null()).then_some(found.dli_fbase as usize)
}
