//! The contract between instrumented code and the runtime: what a profile's
//! object defines, what it calls, and in which registers.
//!
//! An instrumented object (an executable or a shared library) defines one
//! hidden [`Module`], one flag byte, one [`Hooks`] table full of null pointers
//! and one constructor. The constructor calls the weak symbol
//! [`REGISTER_SYMBOL`] if the runtime is loaded. The runtime fills in the hook
//! table, gives the module its site base, and switches on what it wants. Without
//! the runtime nothing is ever switched on, so the program runs as it was
//! written.
//!
//! # Access hooks
//!
//! Before each hooked site stands an empty instruction of five bytes. To switch
//! the site on, the runtime writes a call of the site's [`Stub`] over it; to
//! switch it off, the empty instruction again. A site that is off costs next to
//! nothing: no test, no branch, no register (sqlite with all its 61,000 accesses
//! hooked and off: 1.04 times the plain program; with an inlined test of a flag
//! byte before each: 1.45 times). And the set of sites that are on can be as
//! small as a question needs.
//!
//! ```text
//!     nopl   0(%rax,%rax,1)         off        call stub      on
//!     ...                           the access itself
//! stub:
//!     .long  nop - .
//!     pushq  $site                  code of the stub begins here
//!     pushq  %r11
//!     leaq   address, %r11          an access; others push their arguments
//!     jmp    thunk                  one per module and hook
//! ```
//!
//! Of an ordinary access, by far the most frequent, the thunk is one jump
//! through the hook table. The hook finds the stub's two words on the stack and
//! the address in `r11`; it must restore `r11`, drop the words, return to the
//! site, and preserve every other register and the flags. So a hook that only
//! counts down costs little more than the call.
//!
//! ```text
//!     rsp + 16   return address, behind the site
//!     rsp + 8    site
//!     rsp        the program's r11
//! ```
//!
//! The other thunks save what they and the hook may change, put the arguments
//! into `edi`, `rsi`, `rdx`, `rcx` and the site base into `r11d`, and call
//! through the hook table. A function can come by a site before it has made its
//! frame: a hook that needs an aligned stack aligns it. The hook may change
//! `rax`, `r11` and the flags; it must preserve every other register.
//!
//! *Vector registers are included* in all of that as far as [`Module::vectors`]
//! says: the program's compiler does not know that there is a call. Return
//! addresses and unwind tables are those of ordinary calls. A hook never
//! dereferences the address: the program, not bohr, has to meet the fault.
//!
//! Sites may be switched only while no other thread runs code of the module.
//!
//! # Gates
//!
//! A gate tests the flag byte inline and calls its hook only if
//! [`FLAG_GATES`] is set. The number of the gate comes in `edi`, the address of
//! its [`Module`] in `r11`, the answer goes back in `al`. Other general
//! registers are the caller's, vector registers are not (LLVM's `preserve_most`).
//!
//! Stores have no code of their own to be left out by: their hooks do it, so a
//! program costs the same whether stores can be left out of it or not.
//!
//! # Numbers
//!
//! Site numbers are dense within a module, in the order of the program model
//! (functions by id, then sites by index); adding a base makes them unique in
//! the process. The runtime can have the thunks add it, or write the sum into
//! the stubs ([`Stub::renumbered`]) and leave the base at 0. Gate numbers are
//! dense within a module as well.

mod entry;

/// Version of this contract. A runtime refuses a module of another version.
pub const ABI_VERSION: u32 = 6;

/// First field of every [`Module`].
pub const MODULE_MAGIC: u64 = u64::from_le_bytes(*b"bohr-mod");

/// `void __bohr_register(struct Module *)`, defined by the runtime, weak in modules.
pub const REGISTER_SYMBOL: &str = "__bohr_register";

/// `void __bohr_unregister(struct Module *)`: called when a shared library goes.
pub const UNREGISTER_SYMBOL: &str = "__bohr_unregister";

/// Flag bit: ask the gates whether to skip a thread body or an iteration.
pub const FLAG_GATES: u8 = 2;

/// Passed to the body hook where a thread's body begins that has no gate: the
/// answer does not matter, and no gate further down is the thread's body.
pub const NO_GATE: u32 = u32::MAX;

/// Bit of a gate's number: it leaves out a call.
pub const CALL_GATE: u32 = 1 << 31;

/// Bit of a gate's number: it leaves out the store at the site with the rest as its
/// number, by the hook that is there anyway.
pub const STORE_GATE: u32 = 1 << 30;

/// Bytes of the widest store that can be left out.
pub const WIDEST_OMITTED: usize = 64;

/// Where the stack of the main thread lies under control.
pub const MAIN_STACK: core::ops::Range<u64> = 0x1200_0000_0000..0x1300_0000_0000;

/// Where nothing of an image lies: what puts memory back or makes it from an image.
pub const NOT_IN_IMAGES: core::ops::Range<u64> = 0x1180_0000_0000..0x1200_0000_0000;

/// The stack of whoever makes memory from an image.
pub const IMAGE_STACK: u64 = 0x1190_0000_0000;

/// Where a run that is to have its image taken notes where its memory has content.
pub const IMAGE_NOTE: u64 = 0x1191_0000_0000;

/// Descriptors of the runtime's own begin here.
pub const LOWEST_DESCRIPTOR: u32 = 900;

/// Where everything lies that the runtime maps into a program at fixed addresses. A limit
/// of address space has to leave room for it.
pub const ADDRESS_SPACE: core::ops::Range<u64> = 0x1001_0000_0000..0x3000_0000_0000;

/// Where the stacks and thread-local variables of threads lie under control, those of the
/// main thread apart. When a thread has ended, the next one gets its place.
pub const THREAD_SLOTS: core::ops::Range<u64> = 0x1300_0000_0000..0x1400_0000_0000;

/// Which set of hooks a module was made with.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Hooks before every access that may be shared, and gates.
    Control = 1,
    /// The same hooks, and one at every point of the control flow; no gates.
    Alignment = 2,
}

/// What one instrumented object tells the runtime about itself.
#[repr(C)]
#[derive(Debug)]
pub struct Module {
    /// [`MODULE_MAGIC`].
    pub magic: u64,
    /// [`ABI_VERSION`].
    pub abi: u32,
    /// A [`Profile`].
    pub profile: u32,
    /// Hash of the bundle that the module was made from: names its program model.
    pub program: [u8; 32],
    /// The byte that the gates test.
    pub flags: *mut u8,
    /// Added to every site number of this module by its thunks, but for accesses.
    pub base: *mut u32,
    /// Filled in by the runtime.
    pub hooks: *mut Hooks,
    /// One entry per site of the program model, hooked or not.
    pub sites: *const SiteInfo,
    /// First stub; unrolling and the like make several for one site.
    pub stubs: *const Stub,
    /// Behind the last stub.
    pub stubs_end: *const Stub,
    /// How many sites.
    pub site_count: u32,
    /// How many gates: thread bodies, loops and annotated blocks.
    pub gate_count: u32,
    /// A [`Vectors`].
    pub vectors: u32,
    /// First stub of the points of the control flow: the beginnings of blocks, and
    /// calls. They have numbers of their own, and are switched one by one.
    pub points: *const Stub,
    /// Behind the last of them.
    pub points_end: *const Stub,
}

/// Which vector registers the code of a module may hold values in while it
/// meets a hook.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vectors {
    /// `xmm0` to `xmm15`.
    Sse = 0,
    /// `ymm0` to `ymm15`, where the processor has them.
    Avx = 1,
    /// `zmm0` to `zmm31` and `k0` to `k7`, where the processor has them.
    Avx512 = 2,
}

/// What stands between a hooked site and its module's thunk.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug)]
pub struct Stub {
    /// Distance from this field to the empty instruction before the site.
    pub nop: i32,
    /// Code. Begins with `pushq $site` in its long form.
    pub code: [u8; 28],
}

impl Stub {
    /// Instruction bytes of a site that is off.
    pub const OFF: [u8; 5] = [0x0f, 0x1f, 0x44, 0x00, 0x00];

    /// The module's number of the site, unless these bytes are no stub.
    #[must_use]
    pub fn site(&self) -> Option<u32> {
        let [0x68, a, b, c, d, ..] = self.code else {
            return None;
        };
        Some(u32::from_le_bytes([a, b, c, d]))
    }

    /// The same stub with `base` added to the number of its site.
    #[must_use]
    pub fn renumbered(&self, base: u32) -> Stub {
        let mut stub = *self;
        if let Some(site) = self.site() {
            stub.code[1..5].copy_from_slice(&site.wrapping_add(base).to_le_bytes());
        }
        stub
    }

    /// Instruction bytes of the site when it is on: a call of the code, which
    /// begins four bytes after the field that `nop` counts from.
    #[must_use]
    pub fn on(&self) -> [u8; 5] {
        let distance = 4 - self.nop - 5;
        let [a, b, c, d] = distance.to_le_bytes();
        [0xe8, a, b, c, d]
    }
}

/// The runtime's entry points, called through a module's thunks. Arguments are
/// in `edi`, `rsi`, `rdx`, `rcx`, the module's site base is in `r11d`; but for
/// accesses, see the module documentation.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// `(site, address)`: an access whose size and kind the site table knows.
    pub access: *const (),
    /// `(site, address, length)`: an access of a size known only now, 0 included.
    pub range: *const (),
    /// `(site, destination, source, length)`: reads the source, then writes the destination.
    pub copy: *const (),
    /// `(site)`: a fence.
    pub fence: *const (),
    /// `(site, object)`: the thread's next call into the runtime comes from this
    /// site, and its first argument is this pointer, or 0 if that is none.
    pub call: *const (),
    /// `(gate) -> bool in al`: whether to skip this iteration. Asked once per iteration.
    pub iteration: *const (),
    /// `(gate) -> bool in al`: whether to skip the body of this thread, or
    /// [`NO_GATE`].
    pub body: *const (),
    /// `(point, frame)`: control comes to a point, in the frame at that address.
    pub point: *const (),
}

/// Kind, order and size of a site: `kind | order << 8 | size << 16`, where kind
/// and order are the numbers of [`EventKind`](crate::EventKind) and
/// [`MemoryOrder`](crate::MemoryOrder).
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteInfo(pub u32);

impl SiteInfo {
    /// Stands for a size that only the hook's caller knows.
    pub const DYNAMIC_SIZE: u16 = u16::MAX;

    /// Packs the three parts.
    #[must_use]
    pub const fn new(kind: crate::EventKind, order: crate::MemoryOrder, size: u16) -> SiteInfo {
        SiteInfo(kind as u32 | (order as u32) << 8 | (size as u32) << 16)
    }

    /// The kind of event, if the number names one.
    #[must_use]
    pub fn kind(self) -> Option<crate::EventKind> {
        crate::EventKind::from_number(self.0 as u8)
    }

    /// The memory order, if the number names one.
    #[must_use]
    pub fn order(self) -> Option<crate::MemoryOrder> {
        crate::MemoryOrder::from_number((self.0 >> 8) as u8)
    }

    /// The size in bytes, or [`SiteInfo::DYNAMIC_SIZE`].
    #[must_use]
    pub fn size(self) -> u16 {
        (self.0 >> 16) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EventKind, MemoryOrder};

    #[test]
    fn a_switched_on_site_calls_the_code_of_its_stub() {
        let mut stub = Stub {
            nop: -0x1000,
            code: [0; 28],
        };
        stub.code[..5].copy_from_slice(&[0x68, 7, 1, 0, 0]);
        assert_eq!(stub.site(), Some(0x107));
        let [0xe8, rest @ ..] = stub.on() else {
            panic!("not a call")
        };
        // From the end of the call at field - 0x1000 to the code at field + 4.
        assert_eq!(i32::from_le_bytes(rest), 4 + 0x1000 - 5);
        let renumbered = stub.renumbered(0x8000_0000);
        assert_eq!(renumbered.site(), Some(0x8000_0107));
        assert_eq!(renumbered.on(), stub.on());
        stub.code[0] = 0x90;
        assert_eq!(stub.site(), None);
        assert_eq!(stub.renumbered(1).code, stub.code);
    }

    #[test]
    fn site_info_keeps_its_parts() {
        for kind in EventKind::ALL {
            for order in MemoryOrder::ALL {
                let info = SiteInfo::new(kind, order, 16);
                assert_eq!(
                    (info.kind(), info.order(), info.size()),
                    (Some(kind), Some(order), 16)
                );
            }
        }
    }
}
