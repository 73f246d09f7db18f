//! Functions about threads: creation, locks, conditions, semaphores, barriers; of
//! POSIX, and those of libstdc++ that are not inlined.

use super::thread::Thread;
use super::{End, Guide, Halt, Step, World, not_modelled};
use crate::datum::Datum;
use crate::event::Action;
use crate::term::Scalar;
use bohr_event::MemoryOrder;

const BUSY: u64 = 16;

const DONE: Step<Option<Datum>> = Ok(Some(Datum::NOTHING));

/// Functions that prepare or give up objects, and say nothing to others.
const QUIET: &[&str] = &[
    "pthread_mutex_init",
    "pthread_mutex_destroy",
    "pthread_mutexattr_init",
    "pthread_mutexattr_settype",
    "pthread_mutexattr_destroy",
    "pthread_cond_init",
    "pthread_cond_destroy",
    "pthread_condattr_init",
    "pthread_condattr_setclock",
    "pthread_condattr_destroy",
    "pthread_rwlock_init",
    "pthread_rwlock_destroy",
    "pthread_barrier_destroy",
    "sem_destroy",
    "pthread_attr_init",
    "pthread_attr_destroy",
    "pthread_attr_setdetachstate",
    "pthread_attr_setstacksize",
    "pthread_spin_init",
    "pthread_spin_destroy",
    "_ZNSt18condition_variableC1Ev",
    "_ZNSt18condition_variableD1Ev",
];

impl Thread<'_> {
    pub(super) fn about_threads(
        &mut self,
        world: &mut dyn World,
        name: &str,
        arguments: &[Datum],
    ) -> Step<Option<Datum>> {
        let mut addresses = Vec::new();
        for index in named_by(name) {
            match self.address(world, &arguments[*index])? {
                Some(address) => addresses.push(address),
                None => return DONE,
            }
        }
        let object = || addresses.first().copied().unwrap_or(0);
        match name {
            _ if QUIET.contains(&name) => DONE,
            "pthread_create" => {
                let moment = self.moment(MemoryOrder::Plain);
                let handle =
                    world.fork(moment, arguments[2].scalar(), vec![arguments[3].scalar()])?;
                self.note(world, arguments[0].scalar(), handle.into())?;
                DONE
            }
            "pthread_join" => {
                let result = world.join(self.moment(MemoryOrder::Plain), arguments[0].scalar())?;
                if arguments[1].scalar() != Scalar::Known(0) {
                    self.note(world, arguments[1].scalar(), result)?;
                }
                DONE
            }
            "pthread_exit" => {
                self.result = arguments[0].scalar();
                Err(Halt::Ended(End::Returned))
            }
            "pthread_self" => Ok(Some(handle_of(self.number).into())),
            "pthread_mutex_lock" | "pthread_spin_lock" | "pthread_rwlock_wrlock" => {
                let lock = object();
                self.acquire(world, lock, false)?;
                DONE
            }
            "pthread_rwlock_rdlock" => {
                let lock = object();
                self.acquire(world, lock, true)?;
                DONE
            }
            "pthread_mutex_trylock" | "pthread_spin_trylock" | "pthread_rwlock_trywrlock" => {
                let lock = object();
                self.try_acquire(world, lock)
            }
            "pthread_mutex_unlock" | "pthread_spin_unlock" | "pthread_rwlock_unlock" => {
                let lock = object();
                self.release(world, lock)?;
                DONE
            }
            "pthread_cond_signal" | "_ZNSt18condition_variable10notify_oneEv" => {
                let condition = object();
                self.act(world, Action::Signal(condition))?;
                DONE
            }
            "pthread_cond_broadcast" | "_ZNSt18condition_variable10notify_allEv" => {
                let condition = object();
                self.act(world, Action::Broadcast(condition))?;
                DONE
            }
            "pthread_cond_wait" | "pthread_cond_timedwait" | "pthread_cond_clockwait" => {
                let condition = object();
                let lock = addresses[1];
                if name != "pthread_cond_wait" && matches!(self.guide, Guide::Follow { .. }) {
                    return not_modelled("a wait with a limit whose result was not recorded");
                }
                self.wait(world, condition, lock, false)?;
                DONE
            }
            "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE" => {
                let condition = object();
                let lock = world.load(arguments[1].scalar(), 8)?;
                let Some(lock) = self.address(world, &lock.into())? else {
                    return DONE;
                };
                self.wait(world, condition, lock, false)?;
                DONE
            }
            "pthread_barrier_init" => {
                let barrier = object();
                let count = self.known(&arguments[2], "the number of a barrier's threads")?;
                world.set_barrier(barrier, count as u32);
                DONE
            }
            "pthread_barrier_wait" => {
                let barrier = object();
                let count = world.barrier(barrier);
                self.in_turn(
                    world,
                    &[Action::Arrive(barrier), Action::Depart { barrier, count }],
                )?;
                Ok(Some(0u64.into()))
            }
            "sem_init" => {
                let semaphore = object();
                let value = self.known(&arguments[2], "the value of a semaphore")?;
                world.set_semaphore(semaphore, value);
                DONE
            }
            "sem_wait" => {
                let semaphore = object();
                self.act(world, Action::Take(semaphore))?;
                DONE
            }
            "sem_post" => {
                let semaphore = object();
                self.act(world, Action::Post(semaphore))?;
                DONE
            }
            "_ZNSt6thread4joinEv" => {
                let handle = world.load(arguments[0].scalar(), 8)?;
                world.join(self.moment(MemoryOrder::Plain), handle)?;
                self.note(world, arguments[0].scalar(), Scalar::Known(0))?;
                DONE
            }
            _ if name.starts_with("_ZNSt6thread15_M_start_thread") => {
                // The new thread calls the first virtual function behind the destructors.
                let state = world.load(arguments[1].scalar(), 8)?;
                let table = world.load(state, 8)?;
                let entry = super::access::plus(world, table, 16)?;
                let routine = world.load(entry, 8)?;
                let handle = world.fork(self.moment(MemoryOrder::Plain), routine, vec![state])?;
                self.note(world, arguments[1].scalar(), Scalar::Known(0))?;
                self.note(world, arguments[0].scalar(), handle.into())?;
                DONE
            }
            _ => Ok(None),
        }
    }

    /// The address of a lock or a condition; nothing, if that is put off.
    fn address(&mut self, world: &mut dyn World, value: &Datum) -> Step<Option<u64>> {
        const WHAT: &str = "a lock or condition at an address that depends on what others wrote";
        match world.settle(self.spot(), value.scalar())? {
            Scalar::Known(address) => Ok(Some(address as u64)),
            Scalar::Term(_) if world.puts_off(self.spot(), WHAT) => Ok(None),
            Scalar::Term(_) => not_modelled(WHAT),
        }
    }

    /// Writes a word that belongs to the library's answer.
    fn note(&mut self, world: &mut dyn World, at: Scalar, value: Scalar) -> Step<()> {
        world.begin(self.moment(MemoryOrder::Plain));
        let done = world.store(at, 8, value);
        world.finish();
        done
    }

    pub(super) fn act(&mut self, world: &mut dyn World, action: Action) -> Step<()> {
        world.act(self.moment(MemoryOrder::SequentiallyConsistent), action)
    }

    /// Several actions of one call, of which each may have to wait.
    fn in_turn(&mut self, world: &mut dyn World, actions: &[Action]) -> Step<()> {
        while let Some(action) = actions.get(usize::from(self.phase)) {
            self.act(world, action.clone())?;
            self.phase += 1;
        }
        Ok(())
    }

    fn wait(&mut self, world: &mut dyn World, condition: u64, lock: u64, alone: bool) -> Step<()> {
        self.in_turn(
            world,
            &[
                Action::Sleep { condition, lock },
                Action::Wake { condition, alone },
                Action::Acquire(lock),
            ],
        )
    }

    /// Of a recursive lock, only the outermost counts.
    fn acquire(&mut self, world: &mut dyn World, lock: u64, shared: bool) -> Step<()> {
        if let Some((depth, _)) = self.held.get_mut(&lock) {
            *depth += 1;
            return Ok(());
        }
        self.act(
            world,
            match shared {
                true => Action::AcquireShared(lock),
                false => Action::Acquire(lock),
            },
        )?;
        self.held.insert(lock, (1, shared));
        Ok(())
    }

    fn try_acquire(&mut self, world: &mut dyn World, lock: u64) -> Step<Option<Datum>> {
        match &self.guide {
            Guide::Choose(_) => match self.acquire(world, lock, false) {
                Err(Halt::Blocked) => {
                    world.look(self.moment(MemoryOrder::SequentiallyConsistent));
                    Ok(Some(BUSY.into()))
                }
                other => other.and(DONE),
            },
            Guide::Follow { .. } => {
                not_modelled("an attempt to lock whose result was not recorded")
            }
        }
    }

    fn release(&mut self, world: &mut dyn World, lock: u64) -> Step<()> {
        const WHAT: &str = "a lock that is given back by a thread that does not hold it";
        let spot = self.spot();
        let Some((depth, shared)) = self.held.get_mut(&lock) else {
            return match world.puts_off(spot, WHAT) {
                true => Ok(()),
                false => not_modelled(WHAT),
            };
        };
        *depth -= 1;
        if *depth > 0 {
            return Ok(());
        }
        let action = match *shared {
            true => Action::ReleaseShared(lock),
            false => Action::Release(lock),
        };
        self.held.remove(&lock);
        self.act(world, action)
    }
}

/// The arguments that name what a function is about, by their positions.
fn named_by(name: &str) -> &'static [usize] {
    match name {
        "pthread_cond_wait" | "pthread_cond_timedwait" | "pthread_cond_clockwait" => &[0, 1],
        "pthread_create" | "pthread_join" | "pthread_exit" | "pthread_self" => &[],
        _ if QUIET.contains(&name) => &[],
        _ if name.starts_with("pthread_mutex_")
            || name.starts_with("pthread_spin_")
            || name.starts_with("pthread_rwlock_")
            || name.starts_with("pthread_cond_")
            || name.starts_with("pthread_barrier_")
            || name.starts_with("sem_")
            || name.starts_with("_ZNSt18condition_variable") =>
        {
            &[0]
        }
        _ => &[],
    }
}

/// The `pthread_t` of a thread.
pub(crate) fn handle_of(thread: usize) -> u64 {
    HANDLES + thread as u64 * 16
}

/// The thread with this `pthread_t`.
pub(crate) fn of_handle(handle: u64) -> Option<usize> {
    let offset = handle.checked_sub(HANDLES)?;
    (offset % 16 == 0).then_some((offset / 16) as usize)
}

const HANDLES: u64 = 0x7f00_0000_0000;
