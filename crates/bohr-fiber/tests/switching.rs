//! Fibers have what threads have: thread-local storage, `errno`, exceptions,
//! rounding modes, `pthread_exit`.

use bohr_fiber::{Body, Fiber, ParkedThread, StackRegion};
use std::cell::{Cell, OnceCell, RefCell};

/// Some fibers on one carrier, run in turn until all have ended.
struct Ring {
    carrier: Fiber,
    fibers: OnceCell<Vec<Fiber>>,
    bodies: Vec<fn(&Turn)>,
    current: Cell<usize>,
    log: RefCell<Vec<String>>,
}

/// What a body gets.
struct Turn<'a> {
    ring: &'a Ring,
    number: usize,
}

impl Turn<'_> {
    fn pass(&self) {
        self.ring.fibers()[self.number].switch_to(&self.ring.carrier);
    }

    fn log(&self, text: impl Into<String>) {
        self.ring
            .log
            .borrow_mut()
            .push(format!("{}: {}", self.number, text.into()));
    }
}

impl Ring {
    fn fibers(&self) -> &[Fiber] {
        self.fibers.get().expect("set before the first switch")
    }

    fn parked() -> ParkedThread {
        ParkedThread::new(StackRegion::map(256 << 10).unwrap(), libc::pthread_create).unwrap()
    }

    fn body(&self) -> Body {
        Body {
            run,
            finish,
            argument: self as *const Ring as usize,
        }
    }

    /// Runs the bodies in turn and gives what they logged.
    fn run(bodies: &[fn(&Turn)]) -> Vec<String> {
        let ring = Ring {
            carrier: Fiber::of_carrier().unwrap(),
            fibers: OnceCell::new(),
            bodies: bodies.to_vec(),
            current: Cell::new(0),
            log: RefCell::default(),
        };
        let fibers = bodies
            .iter()
            .map(|_| Fiber::new(Ring::parked(), ring.body()));
        ring.fibers.set(fibers.collect()).unwrap();
        while ring.fibers().iter().any(|fiber| !fiber.has_ended()) {
            for (number, fiber) in ring.fibers().iter().enumerate() {
                if !fiber.has_ended() {
                    ring.current.set(number);
                    ring.carrier.switch_to(fiber);
                }
            }
        }
        ring.log.take()
    }
}

extern "C-unwind" fn run(ring: usize) {
    // SAFETY: `Ring::run` keeps the ring alive until every fiber has ended.
    let ring = unsafe { &*(ring as *const Ring) };
    let number = ring.current.get();
    ring.bodies[number](&Turn { ring, number });
}

extern "C" fn finish(ring: usize, by_exit: bool) -> ! {
    // SAFETY: as in `run`.
    let ring = unsafe { &*(ring as *const Ring) };
    let turn = Turn {
        ring,
        number: ring.current.get(),
    };
    turn.log(if by_exit { "exited" } else { "returned" });
    ring.fibers()[turn.number].end_and_switch_to(&ring.carrier)
}

#[test]
fn fibers_take_turns() {
    let body = |turn: &Turn| {
        turn.log("a");
        turn.pass();
        turn.log("b");
    };
    let log = Ring::run(&[body, body]);
    assert_eq!(
        log,
        ["0: a", "1: a", "0: b", "0: returned", "1: b", "1: returned"]
    );
}

#[test]
fn thread_locals_and_errno_belong_to_the_fiber() {
    thread_local!(static MINE: Cell<usize> = const { Cell::new(40) });
    let body = |turn: &Turn| {
        MINE.set(MINE.get() + turn.number);
        // SAFETY: `errno` is always there.
        unsafe { *libc::__errno_location() = turn.number as i32 };
        turn.pass();
        // SAFETY: as above.
        let errno = unsafe { *libc::__errno_location() };
        turn.log(format!("{} {errno}", MINE.get()));
    };
    MINE.set(1);
    let log = Ring::run(&[body, body, body]);
    assert_eq!(MINE.get(), 1);
    let values: Vec<_> = log.iter().filter(|line| !line.contains("ret")).collect();
    assert_eq!(values, ["0: 40 0", "1: 41 1", "2: 42 2"]);
}

#[test]
fn panics_unwind_each_on_its_own_stack() {
    let body = |turn: &Turn| {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            struct Loud<'a>(&'a Turn<'a>);
            impl Drop for Loud<'_> {
                fn drop(&mut self) {
                    self.0.log("dropped");
                    self.0.pass();
                }
            }
            let _loud = Loud(turn);
            turn.pass();
            std::panic::resume_unwind(Box::new(turn.number));
        }));
        let number = result.unwrap_err().downcast_ref::<usize>().copied();
        turn.log(format!("caught {number:?}"));
    };
    let log = Ring::run(&[body, body]);
    assert_eq!(
        log,
        [
            "0: dropped",
            "1: dropped",
            "0: caught Some(0)",
            "0: returned",
            "1: caught Some(1)",
            "1: returned"
        ]
    );
}

#[test]
fn rounding_mode_belongs_to_the_fiber() {
    fn control() -> (u32, u16) {
        let (mut vector, mut stack) = (0u32, 0u16);
        // SAFETY: store the two control words.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &mut vector);
            std::arch::asm!("fnstcw [{}]", in(reg) &mut stack);
        }
        (vector, stack)
    }
    let toward_zero = |turn: &Turn| {
        let (vector, stack) = control();
        let (vector, stack) = (vector | 0x6000, stack | 0x0c00);
        // SAFETY: sets the rounding mode only, and the fiber does no arithmetic.
        unsafe {
            std::arch::asm!("ldmxcsr [{}]", in(reg) &vector);
            std::arch::asm!("fldcw [{}]", in(reg) &stack);
        }
        turn.pass();
        turn.log(format!("{}", control() == (vector, stack)));
    };
    let nearest = |turn: &Turn| {
        turn.pass();
        let (vector, stack) = control();
        turn.log(format!("{:x} {:x}", vector & 0x6000, stack & 0x0c00));
    };
    let log = Ring::run(&[toward_zero, nearest]);
    assert!(log.contains(&"0: true".into()), "{log:?}");
    assert!(log.contains(&"1: 0 0".into()), "{log:?}");
}

#[test]
fn pthread_exit_ends_the_fiber_and_not_the_carrier() {
    unsafe extern "C-unwind" {
        fn pthread_exit(value: *mut libc::c_void) -> !;
    }
    // SAFETY: no frame between here and the fiber's start has anything to drop.
    let leaves = |_: &Turn| unsafe { pthread_exit(std::ptr::null_mut()) };
    let stays = |turn: &Turn| {
        turn.pass();
        turn.log("still here");
    };
    let log = Ring::run(&[leaves, stays]);
    assert_eq!(log, ["0: exited", "1: still here", "1: returned"]);
}

#[test]
fn a_recycled_thread_has_fresh_storage() {
    thread_local!(static MINE: Cell<u32> = const { Cell::new(5) });
    struct Once {
        carrier: Fiber,
        fiber: OnceCell<Fiber>,
        seen: Cell<u32>,
    }
    extern "C-unwind" fn run(once: usize) {
        // SAFETY: the test keeps it alive.
        let once = unsafe { &*(once as *const Once) };
        once.seen.set(MINE.replace(99));
    }
    extern "C" fn finish(once: usize, _: bool) -> ! {
        // SAFETY: as above.
        let once = unsafe { &*(once as *const Once) };
        once.fiber.get().unwrap().end_and_switch_to(&once.carrier)
    }
    let mut parked = Ring::parked();
    let handle = parked.handle();
    for _ in 0..3 {
        let once = Once {
            carrier: Fiber::of_carrier().unwrap(),
            fiber: OnceCell::new(),
            seen: Cell::new(0),
        };
        let argument = &once as *const Once as usize;
        let body = Body {
            run,
            finish,
            argument,
        };
        once.carrier
            .switch_to(once.fiber.get_or_init(|| Fiber::new(parked, body)));
        assert_eq!(once.seen.get(), 5);
        parked = once.fiber.into_inner().unwrap().recycle().unwrap().reset();
        assert_eq!(parked.handle(), handle);
    }
}

#[test]
fn misuse_is_refused() {
    let carrier = Fiber::of_carrier().unwrap();
    let twin = Fiber::of_carrier().unwrap();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        carrier.switch_to(&twin);
    }));
    assert!(result.is_err());
    assert!(carrier.registers().is_none());
}

#[test]
fn a_suspended_fiber_tells_where_it_will_continue() {
    let body = |turn: &Turn| turn.pass();
    let ring = Ring {
        carrier: Fiber::of_carrier().unwrap(),
        fibers: OnceCell::new(),
        bodies: vec![body],
        current: Cell::new(0),
        log: RefCell::default(),
    };
    ring.fibers
        .set(vec![Fiber::new(Ring::parked(), ring.body())])
        .unwrap();
    ring.carrier.switch_to(&ring.fibers()[0]);
    let fiber = &ring.fibers()[0];
    let registers = fiber.registers().unwrap();
    let region = fiber.parked().unwrap().region();
    assert!((region.start()..region.end()).contains(&registers.stack));
    ring.carrier.switch_to(fiber);
    assert!(fiber.has_ended());
}
