//! A fiber finds the same addresses whether the carrier runs it or a thread of
//! the system that it has for itself.

use bohr_fiber::{Body, Fiber, ParkedThread, StackRegion, Successor};
use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicU32, Ordering};

thread_local!(static MINE: Cell<u32> = const { Cell::new(3) });

struct Scene {
    carrier: Fiber,
    fiber: OnceCell<Fiber>,
    beside: bool,
    done: AtomicU32,
    seen: Cell<[usize; 4]>,
}

extern "C-unwind" fn run(scene: usize) {
    // SAFETY: `play` keeps the scene until the fiber has ended.
    let scene = unsafe { &*(scene as *const Scene) };
    let local = 0u8;
    let variable = MINE.with(|mine| {
        mine.set(mine.get() + 1);
        assert_eq!(mine.get(), 4, "a fresh variable");
        std::ptr::from_ref(mine) as usize
    });
    // SAFETY: asks for the running thread.
    let handle = unsafe { libc::pthread_self() } as usize;
    let address = std::hint::black_box(&raw const local) as usize;
    // SAFETY: asks the kernel for a number.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) } as usize;
    scene.seen.set([address, variable, handle, thread]);
}

extern "C" fn finish(scene: usize, _: bool) -> ! {
    // SAFETY: as in `run`.
    let scene = unsafe { &*(scene as *const Scene) };
    let fiber = scene.fiber.get().expect("set before the start");
    if !scene.beside {
        fiber.end_and_switch_to(&scene.carrier);
    }
    match fiber.end_thread(Successor::Waiting(&scene.done)) {
        Ok(never) => match never {},
        Err(error) => panic!("{error}"),
    }
}

/// Runs a fiber to its end; what it saw, and its parked thread.
fn play(parked: ParkedThread, beside: bool) -> ([usize; 4], ParkedThread) {
    let mut scene = Scene {
        carrier: Fiber::of_carrier().unwrap(),
        fiber: OnceCell::new(),
        beside,
        done: AtomicU32::new(0),
        seen: Cell::default(),
    };
    let argument = &raw const scene as usize;
    let body = Body {
        run,
        finish,
        argument,
    };
    let fiber = scene.fiber.get_or_init(|| Fiber::new(parked, body));
    if beside {
        fiber.continue_beside().unwrap();
        while scene.done.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
    } else {
        scene.carrier.switch_to(fiber);
    }
    let fiber = scene.fiber.take().expect("set above");
    (scene.seen.get(), fiber.recycle().unwrap().reset())
}

#[test]
fn addresses_do_not_depend_on_who_runs_a_fiber() {
    let region = StackRegion::map(256 << 10).unwrap();
    let mut parked = ParkedThread::new(region, libc::pthread_create).unwrap();
    let mut threads = Vec::new();
    let mut addresses = Vec::new();
    for beside in [false, true, true, false] {
        let ([local, variable, handle, thread], recycled) = play(parked, beside);
        parked = recycled;
        threads.push(thread);
        addresses.push([local, variable, handle]);
    }
    assert!(addresses.iter().all(|seen| *seen == addresses[0]));
    assert_eq!(threads[0], threads[3], "the carrier");
    assert!(!threads[1..3].contains(&threads[0]), "threads of their own");
}
