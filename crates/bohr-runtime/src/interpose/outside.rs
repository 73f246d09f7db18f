//! Calls that ask the world outside and are nothing to the engine. They are answered
//! from a recorded run where there is one; in every other run, the first instructions
//! go on to the C library's own function, as if nothing were in front of it.

use crate::{given, outside, real::Entry, system};
use bohr_event::inputs::{Opened, Question};
use core::{ffi::c_char, mem, slice, sync::atomic::AtomicUsize};
use libc::{FILE, c_void, iovec};

/// Defines functions under names of the C library: the real one is called `real` in
/// their bodies.
macro_rules! before {
    ($(fn $name:ident($($argument:ident: $kind:ty),* $(,)?) -> $result:ty, $real:ident $body:block)*) => {$(
        const _: () = {
            static FOUND: AtomicUsize = AtomicUsize::new(0);
            const NAME: &core::ffi::CStr =
                match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name holds no zero byte"),
                };
            #[used]
            #[unsafe(link_section = "bohr_real")]
            static ENTRY: Entry = Entry { name: NAME.as_ptr(), found: &FOUND };

            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C-unwind" fn $name() {
                core::arch::naked_asm!(
                    "cmp byte ptr [rip + {any}], 0",
                    "jne {inner}",
                    "mov r11, [rip + {found}]",
                    "test r11, r11",
                    "je {inner}",
                    "jmp r11",
                    any = sym given::ANY,
                    found = sym FOUND,
                    inner = sym inner,
                )
            }

            #[allow(clippy::too_many_arguments)]
            unsafe extern "C-unwind" fn inner($($argument: $kind),*) -> $result {
                let address = crate::real::find(&ENTRY);
                // SAFETY: the C library's function of this name has this type.
                let $real = unsafe {
                    mem::transmute::<usize, unsafe extern "C-unwind" fn($($kind),*) -> $result>(address)
                };
                $body
            }
        };
    )*};
}

/// Those that fill a buffer.
macro_rules! reads {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        before! {$(
            fn $name(descriptor: i32, buffer: *mut c_void, length: usize $(, $argument: $kind)*) -> isize, real {
                // SAFETY: what the program passed.
                unsafe {
                    let given = outside::read_into(descriptor, buffer, length);
                    given.unwrap_or_else(|| real(descriptor, buffer, length $(, $argument)*))
                }
            }
        )*}
    };
}

reads! {
    pread(offset: i64);
    pread64(offset: i64);
    __read_chk(room: usize);
    __pread_chk(offset: i64, room: usize);
    __pread64_chk(offset: i64, room: usize);
    __recv_chk(room: usize, flags: i32);
}

/// Those that open a file.
macro_rules! opens {
    ($($name:ident($($before:ident: $kind:ty,)* ; path, flags $(, $mode:ident)?);)*) => {
        before! {$(
            fn $name($($before: $kind,)* path: *const c_char, flags: i32 $(, $mode: u32)?) -> i32, real {
                #[allow(unused_mut, unused_assignments)]
                let mut folder = libc::AT_FDCWD;
                $(folder = $before;)*
                let is_there = |opened| is_there(folder, path, flags, opened);
                // SAFETY: what the program passed.
                let mut open = || unsafe { real($($before,)* path, flags $(, $mode)?) };
                outside::open(is_there, &mut open).unwrap_or_else(open)
            }
        )*}
    };
}

opens! {
    open(; path, flags, mode);
    open64(; path, flags, mode);
    openat(folder: i32, ; path, flags, mode);
    openat64(folder: i32, ; path, flags, mode);
    __open_2(; path, flags);
    __open64_2(; path, flags);
    __openat_2(folder: i32, ; path, flags);
    __openat64_2(folder: i32, ; path, flags);
}

/// Whether what was opened can be opened again: a file that is only read has to be as
/// long as it was, whatever is in it.
fn is_there(folder: i32, path: *const c_char, flags: i32, opened: Opened) -> bool {
    if flags & libc::O_ACCMODE != libc::O_RDONLY || !bohr_event::outside::is_file(opened.mode) {
        return true;
    }
    let mut status = mem::MaybeUninit::<libc::stat>::zeroed();
    let arguments = [
        folder as usize,
        path as usize,
        status.as_mut_ptr() as usize,
        0,
        0,
        0,
    ];
    // SAFETY: reads the path and writes the status, which is valid as zeroes, too.
    let status = unsafe {
        let found = system::try_call(libc::SYS_newfstatat, arguments);
        found.is_ok().then(|| status.assume_init())
    };
    status.is_some_and(|status| status.st_size as u64 == opened.size)
}

/// Stands for a descriptor where there is a stream.
const FOUND: i32 = i32::MAX;

/// The stream behind a file that was opened; null if it was not.
unsafe fn open_stream(
    path: *const c_char,
    how: *const c_char,
    real: unsafe extern "C-unwind" fn(*const c_char, *const c_char) -> *mut FILE,
) -> *mut FILE {
    let mut stream: *mut FILE = core::ptr::null_mut();
    // SAFETY: how a file is to be opened is told by a C string.
    let reads = unsafe { system::text(how) }.to_bytes();
    let flags = match reads.contains(&b'r') && !reads.contains(&b'+') {
        true => libc::O_RDONLY,
        false => libc::O_RDWR,
    };
    let is_there = |opened| is_there(libc::AT_FDCWD, path, flags, opened);
    let mut open = || {
        // SAFETY: what the program passed.
        unsafe {
            stream = real(path, how);
            if stream.is_null() { -1 } else { FOUND }
        }
    };
    let given = outside::open(is_there, &mut open);
    match given {
        None => {
            open();
            stream
        }
        Some(FOUND) | Some(..0) => stream,
        // SAFETY: a descriptor that stands for the file, used as it would be.
        Some(descriptor) => unsafe { libc::fdopen(descriptor, how) },
    }
}

before! {
    fn fopen(path: *const c_char, how: *const c_char) -> *mut FILE, real {
        // SAFETY: what the program passed.
        unsafe { open_stream(path, how, real) }
    }

    fn fopen64(path: *const c_char, how: *const c_char) -> *mut FILE, real {
        // SAFETY: what the program passed.
        unsafe { open_stream(path, how, real) }
    }

    fn access(path: *const c_char, mode: i32) -> i32, real {
        let given = outside::status_of(0, |_| ());
        // SAFETY: what the program passed.
        given.unwrap_or_else(|| unsafe { real(path, mode) })
    }

    fn statx(folder: i32, path: *const c_char, flags: i32, mask: u32, status: *mut libc::statx) -> i32, real {
        // SAFETY: what the program passed.
        unsafe {
            let named = !path.is_null() && *path != 0;
            let given = match named {
                true => outside::status_of(size_of::<libc::statx>(), |bytes| write(status.cast(), bytes)),
                false => None,
            };
            given.unwrap_or_else(|| real(folder, path, flags, mask, status))
        }
    }

    fn preadv(descriptor: i32, pieces: *const iovec, count: i32, offset: i64) -> isize, real {
        // SAFETY: what the program passed.
        unsafe {
            let given = read_pieces(descriptor, pieces, count);
            given.unwrap_or_else(|| real(descriptor, pieces, count, offset))
        }
    }

    fn preadv64(descriptor: i32, pieces: *const iovec, count: i32, offset: i64) -> isize, real {
        // SAFETY: what the program passed.
        unsafe {
            let given = read_pieces(descriptor, pieces, count);
            given.unwrap_or_else(|| real(descriptor, pieces, count, offset))
        }
    }

    fn listen(descriptor: i32, most: i32) -> i32, real {
        with_place(descriptor, |place| outside::LISTENERS.listens(place));
        // SAFETY: what the program passed.
        unsafe { real(descriptor, most) }
    }

    // What stands for a connection is of another family.
    fn setsockopt(
        descriptor: i32,
        level: i32,
        name: i32,
        value: *const c_void,
        length: u32,
    ) -> i32, real {
        match outside::goes_nowhere(descriptor) {
            true => 0,
            // SAFETY: what the program passed.
            false => unsafe { real(descriptor, level, name, value, length) },
        }
    }

    fn connect(descriptor: i32, address: *const c_void, length: u32) -> i32, real {
        // SAFETY: the program's address.
        let place = unsafe { slice::from_raw_parts(address.cast::<u8>(), length as usize) };
        if outside::is_given() {
            if outside::LISTENERS.connects(place) {
                outside::is_own(descriptor);
            } else if let Some(answer) = given::answer(Question::Open, |_| true) {
                // One that is still being made is told about by what waits for it.
                if [0, -i64::from(libc::EINPROGRESS)].contains(&answer.result) {
                    connected(descriptor);
                }
                return outside::returned(answer.result) as i32;
            }
        }
        // SAFETY: what the program passed.
        unsafe { real(descriptor, address, length) }
    }
}

/// Something that stands for the other end of a connection takes the socket's place.
fn connected(descriptor: i32) {
    let stand_in = outside::stand_in(Opened::default());
    let arguments = [stand_in as usize, descriptor as usize, 0, 0, 0, 0];
    // SAFETY: two descriptors, of which the second is the program's.
    unsafe { system::call(libc::SYS_dup2, arguments) };
    system::close(stand_in);
    crate::descriptors::set_stand_in(stand_in, false);
    crate::descriptors::set_stand_in(descriptor, true);
}

/// What an accepted connection was in the recorded run; `None` where it was none from
/// outside.
///
/// # Safety
/// The address and its length must be null, or room that the program passed.
pub unsafe fn accept(listener: i32, address: *mut c_void, length: *mut u32) -> Option<i32> {
    if !outside::is_given() || with_place(listener, |place| outside::LISTENERS.visits(place)) {
        return None;
    }
    let answer = given::answer_if_any(Question::Open)?;
    super::caller();
    if answer.result < 0 {
        return Some(outside::returned(answer.result) as i32);
    }
    let (_, peer) = Opened::read(&answer.bytes)?;
    // SAFETY: the caller's promise.
    unsafe { tell_address(address, length, peer) };
    let connection = outside::stand_in(Opened::default());
    Some(outside::renumbered(connection, answer.result as i32))
}

/// Writes who sent something.
///
/// # Safety
/// As of [`accept`].
pub unsafe fn tell_address(address: *mut c_void, length: *mut u32, peer: &[u8]) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(length) = length.as_mut().filter(|_| !address.is_null()) {
            let held = peer.len().min(*length as usize);
            write(address, &peer[..held]);
            *length = peer.len() as u32;
        }
    }
}

unsafe fn write(to: *mut c_void, bytes: &[u8]) {
    // SAFETY: the caller's promise: the program wants them there.
    unsafe { slice::from_raw_parts_mut(to.cast::<u8>(), bytes.len()) }.copy_from_slice(bytes);
}

/// Reads into the program's pieces what the recorded run read.
///
/// # Safety
/// There must be so many pieces.
pub unsafe fn read_pieces(descriptor: i32, pieces: *const iovec, count: i32) -> Option<isize> {
    // SAFETY: the caller's promise.
    unsafe {
        let pieces = slice::from_raw_parts(pieces, usize::try_from(count).ok()?);
        outside::read(descriptor, pieces).map(|(returned, ..)| returned)
    }
}

/// Where a socket waits for connections.
fn with_place<R>(descriptor: i32, action: impl FnOnce(&[u8]) -> R) -> R {
    let mut place = [0u8; size_of::<libc::sockaddr_storage>()];
    let mut length = place.len() as u32;
    let arguments = [
        descriptor as usize,
        place.as_mut_ptr() as usize,
        &raw mut length as usize,
        0,
        0,
        0,
    ];
    // SAFETY: writes no more than there is room for.
    let found = unsafe { system::try_call(libc::SYS_getsockname, arguments) };
    let length = found.map_or(0, |_| place.len().min(length as usize));
    action(&place[..length])
}

/// Those that tell what a file is like.
macro_rules! statuses {
    ($($name:ident($($before:ident: $kind:ty),* ; $($rest:ident: $more:ty),*);)*) => {
        before! {$(
            fn $name($($before: $kind,)* status: *mut libc::stat $(, $rest: $more)*) -> i32, real {
                // SAFETY: what the program passed.
                unsafe {
                    let tell = |bytes: &[u8]| write(status.cast(), bytes);
                    let given = outside::status_of(size_of::<libc::stat>(), tell);
                    given.unwrap_or_else(|| real($($before,)* status $(, $rest)*))
                }
            }
        )*}
    };
}

statuses! {
    stat(path: *const c_char;);
    stat64(path: *const c_char;);
    lstat(path: *const c_char;);
    lstat64(path: *const c_char;);
    fstatat(folder: i32, path: *const c_char; flags: i32);
    fstatat64(folder: i32, path: *const c_char; flags: i32);
}
