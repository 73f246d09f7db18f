//! The parts of the C library's objects that the engine looks at. They are part
//! of its binary interface on x86-64: static initialisers compile them into
//! programs.

use crate::waiting::read_word;

/// A `pthread_mutex_t`.
#[derive(Clone, Copy)]
pub struct Mutex(usize);

impl Mutex {
    /// Type bits of `__kind`.
    const TYPE: u32 = 3;
    const RECURSIVE: u32 = 1;
    const ERROR_CHECKING: u32 = 2;
    /// Attribute bit of `__kind`: the kernel keeps a list of those held.
    const ROBUST: u32 = 16;
    /// `__lock` of a robust mutex whose owner died.
    const OWNER_DIED: u32 = 0x4000_0000;
    /// `__owner` of a robust mutex that nobody has made consistent.
    const LOST: i32 = i32::MAX - 1;
    /// `__lock`'s bits for the owner of robust and inheriting ones.
    const OWNER: u32 = 0x3fff_ffff;

    /// The mutex at this address.
    pub fn at(address: usize) -> Mutex {
        Mutex(address)
    }

    fn lock(self) -> u32 {
        read_word(self.0)
    }

    /// The number of the thread that holds it, 0 if nobody does.
    pub fn owner(self) -> i32 {
        if self.lock() & Self::OWNER == 0 {
            return 0;
        }
        read_word(self.0 + 8) as i32
    }

    fn kind(self) -> u32 {
        read_word(self.0 + 16)
    }

    /// Whether nobody can have it any more: its owner died, and whoever came next gave it
    /// back without saying that what it protects is consistent.
    pub fn is_lost(self) -> bool {
        self.kind() & Self::ROBUST != 0 && read_word(self.0 + 8) as i32 == Self::LOST
    }

    /// Whether the owner may lock it again, or is told that it must not.
    fn answers_its_owner(self) -> bool {
        matches!(
            self.kind() & Self::TYPE,
            Self::RECURSIVE | Self::ERROR_CHECKING
        )
    }

    /// Whether the owner may lock it again.
    pub fn is_recursive(self) -> bool {
        self.kind() & Self::TYPE == Self::RECURSIVE
    }

    /// Whether locking it would not block that thread.
    pub fn can_be_taken_by(self, number: i32) -> bool {
        let lock = self.lock();
        if lock & Self::OWNER == 0 {
            return true;
        }
        if self.kind() & Self::ROBUST != 0 && lock & Self::OWNER_DIED != 0 {
            return true;
        }
        self.owner() == number && self.answers_its_owner()
    }

    /// Whether unlocking it does anything for that thread: others are refused where
    /// the mutex knows its owner, and otherwise unlock what somebody else has locked.
    pub fn can_be_given_back_by(self, number: i32) -> bool {
        let knows_owner = self.answers_its_owner() || self.kind() & Self::ROBUST != 0;
        match knows_owner {
            true => self.is_held_by(number),
            false => self.lock() & Self::OWNER != 0,
        }
    }

    /// Whether the thread holds it already: locking and unlocking change only a count.
    pub fn is_held_by(self, number: i32) -> bool {
        self.owner() == number
    }

    /// How many times the owner holds it, if it is recursive.
    pub fn depth(self) -> u32 {
        match self.kind() & Self::TYPE {
            Self::RECURSIVE => read_word(self.0 + 4),
            _ => 1,
        }
    }
}

/// A `pthread_rwlock_t`.
#[derive(Clone, Copy)]
pub struct ReadWriteLock(usize);

impl ReadWriteLock {
    /// Bit of `__readers`: a writer holds it.
    const WRITE_LOCKED: u32 = 2;
    /// The number of readers stands above.
    const READERS: u32 = 3;
    /// `__flags` of a lock that lets writers go first.
    const PREFERS_WRITERS: u32 = 2;

    /// The lock at this address.
    pub fn at(address: usize) -> ReadWriteLock {
        ReadWriteLock(address)
    }

    fn readers(self) -> u32 {
        read_word(self.0)
    }

    /// The number of the thread that holds it for writing, 0 if nobody does.
    pub fn writer(self) -> i32 {
        read_word(self.0 + 24) as i32
    }

    /// Whether a writer that waits for it keeps readers from it.
    pub fn prefers_writers(self) -> bool {
        read_word(self.0 + 48) == Self::PREFERS_WRITERS
    }

    /// Whether it can be taken for reading.
    pub fn can_be_read(self) -> bool {
        self.readers() & Self::WRITE_LOCKED == 0
    }

    /// Whether it can be taken for writing.
    pub fn can_be_written(self) -> bool {
        self.can_be_read() && self.readers() >> Self::READERS == 0
    }
}

/// A `sem_t`.
#[derive(Clone, Copy)]
pub struct Semaphore(usize);

impl Semaphore {
    /// The semaphore at this address.
    pub fn at(address: usize) -> Semaphore {
        Semaphore(address)
    }

    /// Whether taking one would not block.
    pub fn is_above_zero(self) -> bool {
        read_word(self.0) > 0
    }
}

/// The number of threads a `pthread_barrier_t` waits for.
pub fn barrier_count(address: usize) -> u32 {
    read_word(address + 8)
}

/// Whether a `pthread_barrier_t` is for several processes.
pub fn barrier_is_shared(address: usize) -> bool {
    read_word(address + 12) != 0
}

/// Whether a `pthread_cond_t` is for several processes: bit 0 of its reference word.
pub fn condition_is_shared(address: usize) -> bool {
    read_word(address + 36) & 1 != 0
}
