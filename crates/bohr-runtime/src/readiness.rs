//! What threads of a recorded run were told to be ready, by `poll`, `select` and
//! `epoll`, told again. Of the world outside that is all there is to know. What the
//! program itself makes ready has to be ready, too, and nothing else of it: whoever was
//! told of a pipe waits until somebody has written there, and a run in which more has
//! been written is on another way.

use crate::{
    carrier::CarrierOnly,
    descriptors::Check,
    given,
    interpose::polling::{INTERRUPTED, of_any, wait_until},
    outside::{self, leads_nowhere, leads_outside},
    system,
};
use alloc::{vec, vec::Vec};
use bohr_event::inputs::{Question, Ready};
use core::{
    cell::{Cell, RefCell},
    slice,
};

/// What a call asks about.
pub trait Asked {
    /// The descriptor that an answer is about; `None` if it does not fit the call.
    fn descriptor(&self, answer: Ready) -> Option<i32>;
    /// What the kernel says of some of the descriptors.
    fn now(&self, of: &dyn Fn(i32) -> bool) -> Vec<Ready>;
    /// Whether an answer tells all that there is room for.
    fn is_full(&self, told: usize) -> bool;
    /// Tells the program; what the call returns comes back.
    fn tell(&self, ready: &[Ready]) -> isize;
}

/// Answers a call as it was answered in the recorded run; `None` where nothing is given.
pub fn answer(asked: &dyn Asked, deadline: u64, place: u64) -> Option<isize> {
    if !outside::is_given() {
        return None;
    }
    let answer = given::answer_if_any(Question::Ready)?;
    if answer.result < 0 {
        return None;
    }
    let told: Vec<Ready> = Ready::all(&answer.bytes).collect();
    // Asked now: others run while this thread waits.
    let visited = given::comes(Question::Open, Question::Ready);
    let is_own = |descriptor| is_own(descriptor, visited);
    let mut expected = Vec::new();
    for one in &told {
        if is_own(asked.descriptor(*one)?) {
            expected.push(*one);
        }
    }
    expected.sort_unstable();
    let has_come = || {
        let now = asked.now(&is_own);
        match told.is_empty() {
            true => !now.is_empty(),
            false => expected.iter().all(|one| now.contains(one)),
        }
    };
    // Nothing was there when the time was over.
    let deadline = if told.is_empty() { deadline } else { u64::MAX };
    if !wait_until(&Check::of_program(&has_come), of_any(place), deadline) {
        return Some(INTERRUPTED);
    }
    let mut now = asked.now(&is_own);
    now.sort_unstable();
    let as_recorded = now == expected || asked.is_full(told.len());
    Some(asked.tell(if as_recorded { &told } else { &now }))
}

/// Whether only the program itself makes it ready. Who comes to a place where it waits
/// for connections is told from others by what is done next: connections from outside
/// are given, and then the place is visited.
fn is_own(descriptor: i32, visited: bool) -> bool {
    !leads_outside(descriptor) || !visited && is_listening(descriptor)
}

fn is_listening(descriptor: i32) -> bool {
    let mut listens = 0i32;
    let mut length = size_of_val(&listens) as u32;
    let arguments = [
        descriptor as usize,
        libc::SOL_SOCKET as usize,
        libc::SO_ACCEPTCONN as usize,
        &raw mut listens as usize,
        &raw mut length as usize,
        0,
    ];
    // SAFETY: writes a number.
    let known = unsafe { system::try_call(libc::SYS_getsockopt, arguments) };
    known.is_ok() && listens != 0
}

/// The entries of a `poll`.
pub struct Entries<'a>(&'a [Cell<libc::pollfd>]);

impl Entries<'_> {
    /// So many.
    ///
    /// # Safety
    /// They must be the program's, which waits until this is gone.
    pub unsafe fn new(entries: *mut libc::pollfd, count: u64) -> Self {
        // SAFETY: the caller's promise.
        Entries(unsafe { cells(entries, count as usize) })
    }

    /// What they are about.
    pub fn descriptors(&self) -> impl Iterator<Item = i32> {
        let all = self.0.iter().map(|entry| entry.get().fd);
        all.filter(|descriptor| *descriptor >= 0)
    }

    /// Asks the kernel about some of them.
    pub fn ask(&self, of: &dyn Fn(i32) -> bool) -> isize {
        let mut copies: Vec<libc::pollfd> = self.0.iter().map(Cell::get).collect();
        for copy in copies.iter_mut().filter(|copy| !of(copy.fd)) {
            copy.fd = -1;
        }
        let arguments = [copies.as_mut_ptr() as usize, copies.len(), 0, 0, 0, 0];
        // SAFETY: reads and writes the copies.
        let answer = unsafe { system::call(libc::SYS_poll, arguments) };
        for (entry, copy) in self.0.iter().zip(&copies) {
            set_answer(entry, copy.revents);
        }
        answer
    }
}

fn set_answer(entry: &Cell<libc::pollfd>, events: i16) {
    let mut told = entry.get();
    told.revents = events;
    entry.set(told);
}

impl Asked for Entries<'_> {
    fn descriptor(&self, answer: Ready) -> Option<i32> {
        Some(self.0.get(answer.which as usize)?.get().fd)
    }

    fn now(&self, of: &dyn Fn(i32) -> bool) -> Vec<Ready> {
        self.ask(&|descriptor| descriptor >= 0 && of(descriptor));
        let told = (0..).zip(self.0).map(|(which, entry)| Ready {
            which,
            events: u32::from(entry.get().revents.cast_unsigned()),
        });
        told.filter(|one| one.events != 0).collect()
    }

    fn is_full(&self, _: usize) -> bool {
        false
    }

    fn tell(&self, ready: &[Ready]) -> isize {
        self.0.iter().for_each(|entry| set_answer(entry, 0));
        for one in ready {
            set_answer(
                &self.0[one.which as usize],
                (one.events as u16).cast_signed(),
            );
        }
        ready.len() as isize
    }
}

/// Memory of the program that others may look at, too.
///
/// # Safety
/// There must be so many, or none if it is null.
unsafe fn cells<'a, T>(start: *mut T, count: usize) -> &'a [Cell<T>] {
    match start.is_null() || count == 0 {
        true => &[],
        // SAFETY: the caller's promise; a cell lies as what it holds.
        false => unsafe { slice::from_raw_parts(start.cast(), count) },
    }
}

/// The sets of a `select`, for reading, writing and what is out of the ordinary, up to a
/// number.
pub struct Sets<'a> {
    count: u32,
    sets: [&'a [Cell<u8>]; 3],
}

/// For what a descriptor is ready that is in such a set.
const MEANINGS: [u32; 3] = [
    libc::POLLIN as u32,
    libc::POLLOUT as u32,
    libc::POLLPRI as u32,
];

impl Sets<'_> {
    /// As they are passed.
    ///
    /// # Safety
    /// They must be null, or the program's, which waits until this is gone.
    pub unsafe fn new(count: i32, sets: [*mut libc::fd_set; 3]) -> Self {
        let count = count.max(0).cast_unsigned();
        let bytes = (count as usize).div_ceil(64) * 8;
        // SAFETY: the caller's promise.
        let sets = sets.map(|set| unsafe { cells(set.cast::<u8>(), bytes) });
        Sets { count, sets }
    }

    /// What is in them.
    pub fn descriptors(&self) -> impl Iterator<Item = i32> {
        let copies = self.copies();
        let all = (0..self.count).filter(move |one| events(&copies, *one) != 0);
        all.map(u32::cast_signed)
    }

    fn copies(&self) -> [Vec<u8>; 3] {
        self.sets.map(|set| set.iter().map(Cell::get).collect())
    }

    /// Leaves out of them what the question does not go for.
    pub fn keep(&self, of: &dyn Fn(i32) -> bool) {
        for (set, mut copy) in self.sets.into_iter().zip(self.copies()) {
            keep(&mut copy, of);
            set.iter().zip(copy).for_each(|(byte, kept)| byte.set(kept));
        }
    }
}

fn keep(set: &mut [u8], of: &dyn Fn(i32) -> bool) {
    for (at, byte) in set.iter_mut().enumerate().filter(|(_, byte)| **byte != 0) {
        for bit in 0..8 {
            if *byte >> bit & 1 == 1 && !of((at * 8 + bit) as i32) {
                *byte &= !(1 << bit);
            }
        }
    }
}

fn events(sets: &[Vec<u8>; 3], descriptor: u32) -> u32 {
    let (at, bit) = (descriptor as usize / 8, descriptor % 8);
    let is_in = |set: &[u8]| set.get(at).is_some_and(|byte| byte >> bit & 1 == 1);
    let both = sets.iter().zip(MEANINGS).filter(|(set, _)| is_in(set));
    both.fold(0, |events, (_, meaning)| events | meaning)
}

impl Asked for Sets<'_> {
    fn descriptor(&self, answer: Ready) -> Option<i32> {
        let asked = events(&self.copies(), answer.which);
        let fits = answer.which < self.count && answer.events & !asked == 0;
        fits.then_some(answer.which.cast_signed())
    }

    fn now(&self, of: &dyn Fn(i32) -> bool) -> Vec<Ready> {
        let mut copies = self.copies();
        copies.iter_mut().for_each(|copy| keep(copy, of));
        let address = |set: &mut Vec<u8>| match set.is_empty() {
            true => 0,
            false => set.as_mut_ptr() as usize,
        };
        let no_time = [0i64; 2];
        let [reads, writes, errors] = copies.each_mut().map(address);
        let time = &raw const no_time as usize;
        let arguments = [self.count as usize, reads, writes, errors, time, 0];
        // SAFETY: reads and writes the copies.
        let answer = unsafe { system::call(libc::SYS_select, arguments) };
        let count = if answer > 0 { self.count } else { 0 };
        let ready = (0..count).map(|which| Ready {
            which,
            events: events(&copies, which),
        });
        ready.filter(|ready| ready.events != 0).collect()
    }

    fn is_full(&self, _: usize) -> bool {
        false
    }

    fn tell(&self, ready: &[Ready]) -> isize {
        let mut count = 0;
        for (set, meaning) in self.sets.into_iter().zip(MEANINGS) {
            set.iter().for_each(|byte| byte.set(0));
            for one in ready.iter().filter(|one| one.events & meaning != 0) {
                if let Some(byte) = set.get(one.which as usize / 8) {
                    byte.set(byte.get() | 1 << (one.which % 8));
                    count += 1;
                }
            }
        }
        count
    }
}

/// A descriptor in an `epoll`, with the program's word.
struct Registration {
    epoll: i32,
    descriptor: i32,
    word: u64,
}

/// The last one is the latest.
static REGISTRATIONS: CarrierOnly<RefCell<Vec<Registration>>> =
    CarrierOnly::new(RefCell::new(Vec::new()));

/// The program changes what an `epoll` looks at, which `change` does. For what stands
/// there for the world outside it does not look.
pub fn register(
    (epoll, operation, descriptor): (i32, i32, i32),
    event: *mut libc::epoll_event,
    change: impl Fn(i32, *mut libc::epoll_event) -> i32,
) -> i32 {
    let is_known = given::is_any() || !crate::control::is_on();
    if !is_known || event.is_null() {
        return change(operation, event);
    }
    // SAFETY: the program's event.
    let mut asked = unsafe { event.read_unaligned() };
    let mut all = REGISTRATIONS.borrow_mut();
    all.retain(|one| (one.epoll, one.descriptor) != (epoll, descriptor));
    if operation != libc::EPOLL_CTL_DEL {
        all.push(Registration {
            epoll,
            descriptor,
            word: asked.u64,
        });
    }
    drop(all);
    if !leads_nowhere(descriptor) {
        return change(operation, event);
    }
    asked.events = 0;
    match change(operation, &raw mut asked) {
        // Something else has taken the place of what was there.
        -1 if operation == libc::EPOLL_CTL_MOD => change(libc::EPOLL_CTL_ADD, &raw mut asked),
        answer => answer,
    }
}

fn word(epoll: i32, descriptor: u32) -> Option<u64> {
    let all = REGISTRATIONS.borrow();
    let is_it =
        |one: &&Registration| (one.epoll, one.descriptor.cast_unsigned()) == (epoll, descriptor);
    all.iter().find(is_it).map(|one| one.word)
}

fn descriptor(epoll: i32, word: u64) -> Option<i32> {
    let all = REGISTRATIONS.borrow();
    let mut latest = all.iter().rev();
    let is_it = |one: &&Registration| (one.epoll, one.word) == (epoll, word);
    latest.find(is_it).map(|one| one.descriptor)
}

/// Events that are taken from the kernel at once.
const AT_ONCE: usize = 64;

/// The events of an `epoll`.
pub struct Events {
    epoll: i32,
    to: *mut libc::epoll_event,
    most: usize,
    /// What the kernel has told, which it may not tell again.
    told: RefCell<Vec<Ready>>,
}

impl Events {
    /// As they are asked for.
    pub fn new(epoll: i32, to: *mut libc::epoll_event, most: i32) -> Events {
        Events {
            epoll,
            to,
            most: most.max(0) as usize,
            told: RefCell::new(Vec::new()),
        }
    }

    fn take(&self, of: &dyn Fn(i32) -> bool) {
        let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; AT_ONCE];
        let arguments = [
            self.epoll as usize,
            events.as_mut_ptr() as usize,
            AT_ONCE,
            0,
            0,
            0,
        ];
        // SAFETY: writes the events.
        let count = unsafe { system::call(libc::SYS_epoll_wait, arguments) };
        let mut told = self.told.borrow_mut();
        for event in events.iter().take(count.max(0) as usize) {
            let Some(descriptor) = descriptor(self.epoll, event.u64).filter(|one| of(*one)) else {
                continue;
            };
            let which = descriptor.cast_unsigned();
            match told.iter_mut().find(|known| known.which == which) {
                Some(known) => known.events |= event.events,
                None => told.push(Ready {
                    which,
                    events: event.events,
                }),
            }
        }
    }
}

impl Asked for Events {
    fn descriptor(&self, answer: Ready) -> Option<i32> {
        word(self.epoll, answer.which).map(|_| answer.which.cast_signed())
    }

    fn now(&self, of: &dyn Fn(i32) -> bool) -> Vec<Ready> {
        self.take(of);
        self.told.borrow().clone()
    }

    fn is_full(&self, told: usize) -> bool {
        told == self.most
    }

    fn tell(&self, ready: &[Ready]) -> isize {
        let count = ready.len().min(self.most);
        for (at, one) in ready.iter().take(count).enumerate() {
            let event = libc::epoll_event {
                events: one.events,
                u64: word(self.epoll, one.which).unwrap_or_default(),
            };
            // SAFETY: the program's room for so many events.
            unsafe { self.to.add(at).write_unaligned(event) };
        }
        count as isize
    }
}
