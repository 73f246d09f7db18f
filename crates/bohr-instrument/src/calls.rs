//! Calls that are events of their own, or that touch memory as loads and stores
//! do, by the name of what is called.

use bohr_event::EventKind;

/// What a call does to memory that its arguments point to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryCall {
    /// `(destination, source, length)`.
    Copy,
    /// `(destination, value, length)`.
    Fill,
    /// `(destination, length)`.
    Clear,
    /// `(one, other, length)`, both read.
    Compare,
    /// `(vector loaded from, …)`: as many bytes as the result has.
    MaskedLoad,
    /// `(value, vector stored to, …)`: as many bytes as the value has.
    MaskedStore,
    /// `(vector of addresses, mask, …)`.
    Gather,
    /// `(value, vector of addresses, mask)`.
    Scatter,
}

/// Memory intrinsics by the beginning of their names (types follow), and
/// library functions that compilers treat alike by their whole names.
const MEMORY: &[(&str, MemoryCall)] = &[
    ("llvm.memcpy.", MemoryCall::Copy),
    ("llvm.memmove.", MemoryCall::Copy),
    ("llvm.memset.", MemoryCall::Fill),
    ("llvm.masked.load.", MemoryCall::MaskedLoad),
    ("llvm.masked.expandload.", MemoryCall::MaskedLoad),
    ("llvm.masked.store.", MemoryCall::MaskedStore),
    ("llvm.masked.compressstore.", MemoryCall::MaskedStore),
    ("llvm.masked.gather.", MemoryCall::Gather),
    ("llvm.masked.scatter.", MemoryCall::Scatter),
    ("memcpy", MemoryCall::Copy),
    ("memmove", MemoryCall::Copy),
    ("mempcpy", MemoryCall::Copy),
    ("__memcpy_chk", MemoryCall::Copy),
    ("__memmove_chk", MemoryCall::Copy),
    ("__mempcpy_chk", MemoryCall::Copy),
    ("memset", MemoryCall::Fill),
    ("__memset_chk", MemoryCall::Fill),
    ("bzero", MemoryCall::Clear),
    ("explicit_bzero", MemoryCall::Clear),
    ("memcmp", MemoryCall::Compare),
    ("bcmp", MemoryCall::Compare),
];

/// How a call of `name` touches memory, if it does so like a load or store.
#[must_use]
pub fn memory_call(name: &str) -> Option<MemoryCall> {
    MEMORY
        .iter()
        .find(|(known, _)| *known == name || known.ends_with('.') && name.starts_with(known))
        .map(|(_, call)| *call)
}

/// The event that a call of `name` can become, if it synchronises.
#[must_use]
pub fn synchronising_call(name: &str) -> Option<EventKind> {
    SYNCHRONISING
        .iter()
        .find(|(_, names)| names.contains(&name))
        .map(|(kind, _)| *kind)
}

/// Functions of libc and libpthread that the runtime takes over.
const SYNCHRONISING: &[(EventKind, &[&str])] = &[
    (EventKind::Fork, &["pthread_create", "thrd_create"]),
    (
        EventKind::Join,
        &[
            "pthread_join",
            "thrd_join",
            "pthread_tryjoin_np",
            "pthread_timedjoin_np",
        ],
    ),
    (EventKind::Exit, &["pthread_exit", "thrd_exit"]),
    (
        EventKind::Acquire,
        &[
            "pthread_mutex_lock",
            "pthread_mutex_trylock",
            "pthread_mutex_timedlock",
            "pthread_mutex_clocklock",
            "pthread_rwlock_wrlock",
            "pthread_rwlock_trywrlock",
            "pthread_rwlock_timedwrlock",
            "pthread_spin_lock",
            "pthread_spin_trylock",
            "mtx_lock",
            "mtx_trylock",
            "mtx_timedlock",
            "pthread_once",
            "call_once",
        ],
    ),
    (
        EventKind::Release,
        &[
            "pthread_mutex_unlock",
            "pthread_rwlock_unlock",
            "pthread_spin_unlock",
            "mtx_unlock",
        ],
    ),
    (
        EventKind::AcquireShared,
        &[
            "pthread_rwlock_rdlock",
            "pthread_rwlock_tryrdlock",
            "pthread_rwlock_timedrdlock",
        ],
    ),
    (
        EventKind::Wait,
        &[
            "pthread_cond_wait",
            "pthread_cond_timedwait",
            "pthread_cond_clockwait",
            "cnd_wait",
            "cnd_timedwait",
            "syscall",
        ],
    ),
    (EventKind::Signal, &["pthread_cond_signal", "cnd_signal"]),
    (
        EventKind::Broadcast,
        &["pthread_cond_broadcast", "cnd_broadcast"],
    ),
    (EventKind::Arrive, &["pthread_barrier_wait"]),
    (EventKind::Send, &["sem_post"]),
    (
        EventKind::Receive,
        &["sem_wait", "sem_trywait", "sem_timedwait"],
    ),
    (
        EventKind::Yield,
        &["sched_yield", "pthread_yield", "thrd_yield"],
    ),
    (
        EventKind::Sleep,
        &[
            "sleep",
            "usleep",
            "nanosleep",
            "clock_nanosleep",
            "thrd_sleep",
        ],
    ),
    (
        EventKind::Alloc,
        &[
            "malloc",
            "calloc",
            "realloc",
            "reallocarray",
            "aligned_alloc",
            "memalign",
            "posix_memalign",
            "valloc",
            "strdup",
            "strndup",
            "_Znwm",
            "_Znam",
            "_ZnwmSt11align_val_t",
            "_ZnamSt11align_val_t",
            "_ZnwmRKSt9nothrow_t",
            "_ZnamRKSt9nothrow_t",
        ],
    ),
    (
        EventKind::Free,
        &[
            "free",
            "_ZdlPv",
            "_ZdaPv",
            "_ZdlPvm",
            "_ZdaPvm",
            "_ZdlPvSt11align_val_t",
            "_ZdlPvmSt11align_val_t",
        ],
    ),
];
