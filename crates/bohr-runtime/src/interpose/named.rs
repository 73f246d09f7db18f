//! Memory and semaphores with names, which the whole machine would share: those that
//! a run makes are its own, so that runs can be made side by side, and a run that
//! is killed leaves nothing behind. Processes that the run starts by copying itself have
//! them, too; who becomes another program does not.
//!
//! What somebody outside has made can be opened as ever.

use super::interpose;
use crate::{carrier::CarrierOnly, channel, control, dispatch, real::real, system};
use alloc::{format, vec::Vec};
use core::{cell::RefCell, ffi::c_char, ptr};

/// A name, and what it stands for: a descriptor, or the address of a semaphore.
struct Named {
    /// Empty once it has been taken away: who has opened it goes on using it.
    name: Vec<u8>,
    content: usize,
}

/// Names of one kind.
struct Register {
    all: CarrierOnly<RefCell<Vec<Named>>>,
    /// What the C library puts before a name to have a path.
    path: &'static str,
}

impl Register {
    const fn new(path: &'static str) -> Register {
        Register {
            all: CarrierOnly::new(RefCell::new(Vec::new())),
            path,
        }
    }

    fn find(&self, name: &[u8]) -> Option<usize> {
        let all = self.all.borrow();
        let found = all.iter().find(|one| !name.is_empty() && one.name == name);
        found.map(|one| one.content)
    }

    /// Takes a name away; whether anything had it.
    fn unname(&self, name: &[u8]) -> bool {
        let mut all = self.all.borrow_mut();
        let mut found = all
            .iter_mut()
            .filter(|one| !name.is_empty() && one.name == name);
        found.next().map(|one| one.name.clear()).is_some()
    }

    fn forget(&self, name: &[u8]) -> Option<usize> {
        let mut all = self.all.borrow_mut();
        let position = all.iter().position(|one| one.name == name)?;
        Some(all.remove(position).content)
    }

    fn add(&self, name: &[u8], content: usize) {
        let name = name.to_vec();
        self.all.borrow_mut().push(Named { name, content });
    }

    /// Whether somebody outside has made it.
    fn is_outside(&self, name: &[u8]) -> bool {
        let path = [self.path.as_bytes(), name, b"\0"].concat();
        let arguments = [path.as_ptr() as usize, libc::F_OK as usize, 0, 0, 0, 0];
        // SAFETY: reads the path.
        unsafe { system::try_call(libc::SYS_access, arguments) }.is_ok()
    }

    /// What a call with these flags is about.
    fn asked(&self, name: &[u8], flags: i32) -> Asked {
        let has = |flag| flags & flag != 0;
        let ours = control::is_on() && !name.is_empty() && !name.contains(&b'/');
        match self.find(name) {
            Some(_) if has(libc::O_CREAT) && has(libc::O_EXCL) => Asked::Taken,
            Some(content) => Asked::Own(content),
            None if !ours || !has(libc::O_CREAT) => Asked::Outside,
            // Who would share it with others does; who wants it for itself has it.
            None if !has(libc::O_EXCL) && self.is_outside(name) => Asked::Outside,
            None => Asked::New,
        }
    }
}

static MEMORY: Register = Register::new("/dev/shm/");
static SEMAPHORES: Register = Register::new("/dev/shm/sem.");

/// Bytes of a mapping that holds one semaphore.
const PAGE: usize = 4096;

/// A name without the slashes that it begins with.
///
/// # Safety
/// It must be null or a C string.
unsafe fn bare<'a>(name: *const c_char) -> &'a [u8] {
    // SAFETY: the caller answers for it.
    let name = unsafe { system::text(name) }.to_bytes();
    let slashes = name.iter().take_while(|byte| **byte == b'/').count();
    &name[slashes..]
}

/// What a call with these flags does about a name.
enum Asked {
    /// Uses what this run has made.
    Own(usize),
    /// Makes it.
    New,
    /// Fails: it is there already.
    Taken,
    /// Asks the system.
    Outside,
}

/// The kernel's answer as the C library gives it.
fn answered(answer: Result<usize, i32>) -> i32 {
    answer.map_or_else(fail, |value| value as i32)
}

fn fail(error: i32) -> i32 {
    // SAFETY: `errno` is always there.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Memory of this run under a name.
fn make_memory(name: &[u8]) -> Result<usize, i32> {
    let create = [
        c"named".as_ptr() as usize,
        libc::MFD_CLOEXEC as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: makes a descriptor.
    let made = unsafe { system::try_call(libc::SYS_memfd_create, create) }?;
    let kept = channel::move_up(made as i32)? as usize;
    MEMORY.add(name, kept);
    Ok(kept)
}

/// A descriptor of its own for memory that is there.
fn open_memory(kept: usize, flags: i32) -> Result<usize, i32> {
    let path = format!("/proc/self/fd/{kept}\0");
    let flags = flags & !(libc::O_CREAT | libc::O_EXCL) | libc::O_CLOEXEC;
    let open = [
        libc::AT_FDCWD as usize,
        path.as_ptr() as usize,
        flags as usize,
        0,
        0,
        0,
    ];
    // SAFETY: reads the path.
    unsafe { system::try_call(libc::SYS_openat, open) }
}

/// A semaphore of this run under a name; null with `errno` if there is no room.
fn make_semaphore(name: &[u8], value: u32) -> *mut libc::sem_t {
    let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // Shared with processes that the run makes by copying itself.
    let kind = (libc::MAP_SHARED | libc::MAP_ANONYMOUS) as usize;
    // SAFETY: fresh memory.
    let mapped =
        unsafe { system::try_call(libc::SYS_mmap, [0, PAGE, access, kind, usize::MAX, 0]) };
    let semaphore = match mapped {
        Ok(address) => address as *mut libc::sem_t,
        Err(error) => {
            fail(error);
            return ptr::null_mut();
        }
    };
    // SAFETY: there is room for one.
    if unsafe { libc::sem_init(semaphore, 1, value) } != 0 {
        return ptr::null_mut();
    }
    SEMAPHORES.add(name, semaphore as usize);
    semaphore
}

fn is_own(semaphore: *mut libc::sem_t) -> bool {
    let all = SEMAPHORES.all.borrow();
    all.iter().any(|one| one.content == semaphore as usize)
}

interpose! {
    fn shm_open(name: *const c_char, flags: i32, mode: libc::mode_t) -> i32 {
        // SAFETY: the program passes a name.
        let bare = unsafe { bare(name) };
        match MEMORY.asked(bare, flags) {
            Asked::Own(kept) => answered(open_memory(kept, flags)),
            Asked::New => answered(make_memory(bare).and_then(|kept| open_memory(kept, flags))),
            Asked::Taken => fail(libc::EEXIST),
            Asked::Outside => {
                let open = real!(fn shm_open(*const c_char, i32, libc::mode_t) -> i32);
                // SAFETY: passes on what the program passed.
                dispatch::directly(|| unsafe { open(name, flags, mode) })
            }
        }
    }

    fn shm_unlink(name: *const c_char) -> i32 {
        // SAFETY: the program passes a name.
        match MEMORY.forget(unsafe { bare(name) }) {
            Some(kept) => {
                system::close(kept as i32);
                0
            }
            None => {
                let unlink = real!(fn shm_unlink(*const c_char) -> i32);
                // SAFETY: passes on what the program passed.
                dispatch::directly(|| unsafe { unlink(name) })
            }
        }
    }

    fn sem_open(name: *const c_char, flags: i32, mode: libc::mode_t, value: u32) -> *mut libc::sem_t {
        // SAFETY: the program passes a name.
        let bare = unsafe { bare(name) };
        match SEMAPHORES.asked(bare, flags) {
            Asked::Own(semaphore) => semaphore as *mut libc::sem_t,
            Asked::New => make_semaphore(bare, value),
            Asked::Taken => {
                fail(libc::EEXIST);
                ptr::null_mut()
            }
            Asked::Outside => {
                let open = real!(fn sem_open(*const c_char, i32, libc::mode_t, u32) -> *mut libc::sem_t);
                // SAFETY: passes on what the program passed.
                dispatch::directly(|| unsafe { open(name, flags, mode, value) })
            }
        }
    }

    fn sem_close(semaphore: *mut libc::sem_t) -> i32 {
        if is_own(semaphore) {
            // Whoever opens it again gets the same one.
            return 0;
        }
        let close = real!(fn sem_close(*mut libc::sem_t) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { close(semaphore) })
    }

    fn sem_unlink(name: *const c_char) -> i32 {
        // SAFETY: the program passes a name.
        if SEMAPHORES.unname(unsafe { bare(name) }) {
            return 0;
        }
        let unlink = real!(fn sem_unlink(*const c_char) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { unlink(name) })
    }
}
