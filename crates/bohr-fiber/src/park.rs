//! Real threads that exist only to lend their stack and thread-local storage.

use crate::{
    FiberError, StackRegion,
    dtv::Vector,
    system::{call, futex},
    tls,
};
use alloc::vec::Vec;
use core::{
    ffi::c_void,
    mem::MaybeUninit,
    sync::atomic::{AtomicU32, Ordering},
};

/// `pthread_create` of the C library. A parameter, since whoever uses fibers
/// may have put another function under that name.
pub type CreateThread = unsafe extern "C" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    extern "C" fn(*mut c_void) -> *mut c_void,
    *mut c_void,
) -> i32;

/// A thread that will never run again, and what it leaves to a fiber.
#[derive(Debug)]
pub struct ParkedThread {
    pub(crate) thread: libc::pthread_t,
    pub(crate) region: StackRegion,
    pub(crate) fs_base: usize,
    /// The parked thread's own frames lie above.
    pub(crate) top: usize,
    robust_list: usize,
    /// The bytes from `top` to `fs_base` as they were before any fiber ran:
    /// the initial values of all thread-local variables.
    pub(crate) image: Vec<u8>,
    /// The same for libraries that are loaded later.
    vector: Vector,
}

/// What a thread tells its creator while it parks.
struct Parking {
    stack: usize,
    fs_base: usize,
    robust_list: usize,
    ready: AtomicU32,
}

impl ParkedThread {
    /// Creates a thread on `region` and parks it.
    ///
    /// # Errors
    /// If there can be no fibers here, or no thread.
    pub fn new(region: StackRegion, create: CreateThread) -> Result<ParkedThread, FiberError> {
        tls::require_fs_base()?;
        let mut parking = Parking {
            stack: 0,
            fs_base: 0,
            robust_list: 0,
            ready: AtomicU32::new(0),
        };
        let thread = start(&region, create, &mut parking)?;
        while parking.ready.load(Ordering::Acquire) == 0 {
            futex(&parking.ready, libc::FUTEX_WAIT, 0);
        }
        // Below the parked frame, past its red zone.
        let top = (parking.stack - 512) & !15;
        let mut parked = ParkedThread {
            thread,
            region,
            fs_base: parking.fs_base,
            top,
            robust_list: parking.robust_list,
            image: Vec::new(),
            // SAFETY: the parked thread's own, and it does not run any more.
            vector: unsafe { Vector::of(parking.fs_base) },
        };
        parked.image = parked.storage().to_vec();
        Ok(parked)
    }

    /// What `pthread_self` gives on a fiber that runs on this thread.
    #[must_use]
    pub fn handle(&self) -> libc::pthread_t {
        self.thread
    }

    /// Where the kernel would look for mutexes to mark if the thread died: the
    /// address of its `robust_list_head`.
    #[must_use]
    pub fn robust_list(&self) -> usize {
        self.robust_list
    }

    /// Its stack.
    #[must_use]
    pub fn region(&self) -> &StackRegion {
        &self.region
    }

    /// Where the fiber's stack begins and its thread-local storage ends.
    fn storage(&self) -> &[u8] {
        let length = self.fs_base - self.top;
        // SAFETY: these bytes belong to the parked thread's stack and storage,
        // and nothing runs there while nobody has made a fiber of it.
        unsafe { core::slice::from_raw_parts(self.top as *const u8, length) }
    }

    /// Sets all thread-local variables back to their initial values, so that
    /// the next fiber finds what a new thread would.
    pub(crate) fn reset(&mut self) {
        // SAFETY: as in `storage`; `&mut self` says that no fiber uses it.
        unsafe {
            core::ptr::copy_nonoverlapping(
                self.image.as_ptr(),
                self.top as *mut u8,
                self.image.len(),
            );
            self.vector.restore(self.fs_base);
        }
    }
}

/// The parked thread of a fiber that has ended, to be used again.
#[derive(Debug)]
pub struct Recycled(pub(crate) ParkedThread);

impl Recycled {
    /// As good as new.
    #[must_use]
    pub fn reset(mut self) -> ParkedThread {
        self.0.reset();
        self.0
    }
}

fn start(
    region: &StackRegion,
    create: CreateThread,
    parking: &mut Parking,
) -> Result<libc::pthread_t, FiberError> {
    let mut attributes = MaybeUninit::uninit();
    let mut thread = MaybeUninit::uninit();
    // SAFETY: plain calls with valid pointers; the region is ours and stays mapped.
    let result = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        let memory = region.start() as *mut c_void;
        let result =
            match libc::pthread_attr_setstack(attributes.as_mut_ptr(), memory, region.length()) {
                0 => create(
                    thread.as_mut_ptr(),
                    attributes.as_ptr(),
                    park,
                    core::ptr::from_mut(parking).cast(),
                ),
                error => error,
            };
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        result
    };
    match result {
        // SAFETY: `create` succeeded and has written it.
        0 => Ok(unsafe { thread.assume_init() }),
        error => Err(FiberError::NoThread(error)),
    }
}

/// The whole life of a parked thread. It blocks every signal by the raw call
/// (the library's would spare its own): a handler would run on what is now the
/// fiber's live stack.
extern "C" fn park(parking: *mut c_void) -> *mut c_void {
    let everything = u64::MAX;
    // SAFETY: the creator waits for `ready` and keeps `parking` alive until then.
    unsafe {
        let mask = &raw const everything as usize;
        let arguments = [libc::SIG_SETMASK as usize, mask, 0, size_of::<u64>()];
        call(libc::SYS_rt_sigprocmask, arguments);
        let parking = parking.cast::<Parking>();
        (*parking).fs_base = tls::fs_base();
        let mut length = 0usize;
        let list = &raw mut (*parking).robust_list as usize;
        call(
            libc::SYS_get_robust_list,
            [0, list, &raw mut length as usize, 0],
        );
        (*parking).stack = stack_pointer();
        (*parking).ready.store(1, Ordering::Release);
        futex(&(*parking).ready, libc::FUTEX_WAKE, 1);
    }
    sleep_for_ever()
}

fn stack_pointer() -> usize {
    let value;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov {}, rsp", out(reg) value, options(nomem, nostack, preserves_flags));
    }
    value
}

/// Waits on a word that never changes, without touching the stack again.
fn sleep_for_ever() -> ! {
    static NEVER: AtomicU32 = AtomicU32::new(0);
    // SAFETY: a futex wait reads one word; the loop neither returns nor pushes.
    unsafe {
        core::arch::asm!(
            "2:",
            "mov eax, 202", // futex
            "syscall",
            "jmp 2b",
            in("rdi") NEVER.as_ptr(),
            in("rsi") libc::FUTEX_WAIT,
            in("rdx") 0,
            in("r10") 0,
            options(noreturn)
        );
    }
}
