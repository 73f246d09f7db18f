//! Where things lie in the target's address space. Everything whose address a
//! program can see or depend on lies at a fixed place, in a part of the space
//! where the kernel puts nothing by itself.
//!
//! ```text
//!   0x1001_0000_0000  trace      the file that events are written to, mapped
//!   0x1100_0000_0000  arena      the runtime's own memory
//!   0x1180_0000_0000  rewinder   what puts the memory of runs back, and its copies
//!   0x1200_0000_0000  main       stack of the main thread
//!   0x1300_0000_0000  stacks     one slot per thread
//!   0x1380_0000_0000  large      the same for threads that ask for more than usual
//!   0x1400_0000_0000  shadow     one byte per 16 bytes of heap
//!   0x2000_0000_0000  heap       one region per thread path
//! ```

use bohr_event::abi::{self, ADDRESS_SPACE, THREAD_SLOTS};

/// Where the trace of a run is mapped: two halves, of which one is in use. Below it
/// ends what AddressSanitizer keeps.
pub const TRACE: usize = ADDRESS_SPACE.start as usize;
/// Size of a half.
pub const TRACE_HALF: usize = (ARENA - TRACE) / 2;

/// The runtime's own memory.
pub const ARENA: usize = 0x1100_0000_0000;
/// Address space of the arena; pages are taken as they are used.
pub const ARENA_LENGTH: usize = 64 << 30;

/// What puts the memory of a run back.
pub const REWINDER: usize = 0x1180_0000_0000;
/// Its stack.
pub const REWINDER_STACK: usize = 0x1181_0000_0000;
/// Copies of pages.
pub const COPIES: usize = 0x1182_0000_0000;

/// Lowest address of the main thread's stack.
pub const MAIN_STACK: usize = abi::MAIN_STACK.start as usize;

/// First slot for the stack of a thread.
pub const STACKS: usize = THREAD_SLOTS.start as usize;
/// First slot for a stack that is larger than usual.
pub const LARGE_STACKS: usize = 0x1380_0000_0000;
/// Unmapped space between stacks, so that running over the end faults.
pub const STACK_GAP: usize = STACK_RESERVE;
/// The lowest part of a stack, which the program is not told of: there is room for
/// hooks and calls. How much they take depends on what they have to do, and where a
/// stack overflows must not.
pub const STACK_RESERVE: usize = 64 << 10;
/// How much of that the engine has to find.
pub const ENGINE_NEEDS: usize = 40 << 10;

/// One byte for every 16 bytes of heap, not 0 where they have been freed.
pub const SHADOW: usize = THREAD_SLOTS.end as usize;

/// First heap region. The bits of a heap address above [`HEAP_BITS`] are those
/// of this one, and of no other address: hooks test for that.
pub const HEAP: usize = 0x2000_0000_0000;
/// Size of the whole heap, as a power of two.
pub const HEAP_BITS: u32 = 44;
const _: () = assert!(HEAP_REGION * HEAP_REGIONS == 1 << HEAP_BITS && HEAP >> HEAP_BITS == 2);
const _: () = assert!(HEAP + (1 << HEAP_BITS) == ADDRESS_SPACE.end as usize);
/// Size of a heap region.
pub const HEAP_REGION: usize = 4 << 30;
/// Number of heap regions.
pub const HEAP_REGIONS: usize = 4096;

/// Whether the address lies in the target's heap.
pub fn in_heap(address: usize) -> bool {
    address >> HEAP_BITS == HEAP >> HEAP_BITS
}
