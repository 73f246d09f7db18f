//! A thread that is watched on its way to a moment ([`bohr_event::route`]): points
//! of the control flow that the way is made of are switched on, and where it ends
//! the process can be made to stop, for those who want to see its memory.

use crate::{
    carrier::CarrierOnly, engine::ENGINE, hold, objects::OBJECTS, patch, unwind::Registers,
};
use bohr_event::control::{HeldRegisters, Watch, Watched};
use bohr_event::route::Walk;
use core::cell::{Cell, RefCell, UnsafeCell};

struct Watching {
    wanted: RefCell<Option<Watch>>,
    walk: RefCell<Option<Walk>>,
    watched: Cell<Watched>,
}

static WATCHING: CarrierOnly<Watching> = CarrierOnly::new(Watching {
    wanted: RefCell::new(None),
    walk: RefCell::new(None),
    watched: Cell::new(NOT_SEEN),
});

/// What is known of a thread that has not come by yet.
const NOT_SEEN: Watched = Watched {
    arrival: None,
    steps: 0,
    last: None,
    events: 0,
};

/// What the processor held where the process has stopped. Read from outside.
#[repr(transparent)]
pub struct Held(UnsafeCell<HeldRegisters>);

// SAFETY: written by the carrier only, before the process stops.
unsafe impl Sync for Held {}

#[unsafe(no_mangle)]
pub static __bohr_held: Held = Held(UnsafeCell::new([0; 17]));

/// Sets what a run is to watch, and has the points of the way told.
pub fn begin(watch: Option<&Watch>) {
    *WATCHING.wanted.borrow_mut() = watch.cloned();
    *WATCHING.walk.borrow_mut() = watch.map(|_| Walk::default());
    // An image may be of a run that had come to the end of its way.
    WATCHING.watched.set(NOT_SEEN);
    let Some(watch) = watch else {
        return;
    };
    let points = watch.route.watched();
    OBJECTS.each_module(|module| {
        // SAFETY: registered modules are loaded.
        let module = unsafe { &*module };
        if module.program == watch.program {
            patch::switch_points(module, &points);
        }
    });
}

/// The same in a run that begins from an image. A thread that was watched on the same
/// way up to there is on it.
pub fn begin_from_image(watch: Option<&Watch>) {
    let known = WATCHING.wanted.borrow().clone();
    let same = known.zip(watch).is_some_and(|(known, watch)| {
        let hold = watch.hold;
        Watch { hold, ..known } == *watch
    });
    match same && WATCHING.watched.get().arrival.is_none() {
        true => *WATCHING.wanted.borrow_mut() = watch.cloned(),
        false => begin(watch),
    }
}

/// The running thread passes a point.
#[inline(never)]
pub fn pass(point: u32, frame: u64) {
    let wanted = WATCHING.wanted.borrow();
    let Some(watch) = wanted.as_ref() else {
        return;
    };
    if ENGINE.current().path != watch.thread {
        return;
    }
    let mut walk = WATCHING.walk.borrow_mut();
    let Some(walk) = walk.as_mut() else {
        return;
    };
    let last = walk.last();
    let arrival = walk.pass(&watch.route, point, frame);
    let arrived = WATCHING.watched.get().arrival;
    if arrived.is_some() {
        return;
    }
    WATCHING.watched.set(Watched {
        arrival,
        steps: u32::try_from(walk.taken()).unwrap_or(u32::MAX),
        last,
        events: ENGINE.traced_events(),
    });
    if arrival.is_some() && watch.hold {
        let registers = Registers::here();
        // SAFETY: only the carrier is here, and nobody holds a reference.
        unsafe { *__bohr_held.0.get() = registers.values() };
        hold::now();
    }
}

/// How far the thread came, if there was one to watch.
pub fn watched() -> Option<Watched> {
    let is_watched = WATCHING.wanted.borrow().is_some();
    is_watched.then(|| WATCHING.watched.get())
}
