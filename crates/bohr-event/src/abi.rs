//! The contract between instrumented code and the runtime: what a profile's
//! object defines, what it calls, and in which registers.
//!
//! An instrumented object (an executable or a shared library) defines one
//! hidden [`Module`], one flag byte, one [`Hooks`] table full of null pointers
//! and one constructor. The constructor calls the weak symbol
//! [`REGISTER_SYMBOL`] if the runtime is loaded. The runtime fills in the hook
//! table, gives the module its site base and sets the flags. Without the
//! runtime nothing is ever set, so the program runs as it was written.
//!
//! At each hooked site, before the access:
//!
//! ```text
//!     testb  $FLAG_ACCESS, flags(%rip)        inlined
//!     jne    cold
//! back:                                       the access itself
//!     ...
//! cold:
//!     movl   $site, %edi
//!     leaq   address, %rsi
//!     call   thunk                            one per module and hook
//!     jmp    back
//! thunk:
//!     movl   base(%rip), %r11d
//!     jmpq   *hooks+8*n(%rip)
//! ```
//!
//! Calls follow LLVM's `preserve_most` convention: the hook preserves every
//! register but `r11` (and `rax` where it returns something), vector registers
//! included, since the runtime's code does not use them. The hook never
//! dereferences the address: the program, not bohr, has to meet the fault.
//!
//! Site numbers are dense within a module, in the order of the program model
//! (functions by id, then sites by index); adding the base makes them unique in
//! the process.

/// Version of this contract. A runtime refuses a module of another version.
pub const ABI_VERSION: u32 = 1;

/// First field of every [`Module`].
pub const MODULE_MAGIC: u64 = u64::from_le_bytes(*b"bohr-mod");

/// `void __bohr_register(struct Module *)`, defined by the runtime, weak in modules.
pub const REGISTER_SYMBOL: &str = "__bohr_register";

/// `void __bohr_unregister(struct Module *)`: called when a shared library goes.
pub const UNREGISTER_SYMBOL: &str = "__bohr_unregister";

/// Flag bit: call the access hooks.
pub const FLAG_ACCESS: u8 = 1;

/// Flag bit: ask the gates whether to skip a thread body or an iteration.
pub const FLAG_GATES: u8 = 2;

/// Which set of hooks a module was made with.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Hooks before every access that may be shared, and gates.
    Control = 1,
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
    /// The byte that the inlined tests read.
    pub flags: *mut u8,
    /// Added to every site number of this module by its thunks.
    pub base: *mut u32,
    /// Filled in by the runtime.
    pub hooks: *mut Hooks,
    /// One entry per site of the program model, hooked or not.
    pub sites: *const SiteInfo,
    /// How many sites.
    pub site_count: u32,
    /// How many gated loops and annotated blocks.
    pub gate_count: u32,
}

/// The runtime's entry points, called through a module's thunks. Arguments are
/// in `edi`, `rsi`, `rdx`, `rcx`; the module's site base is in `r11d`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// `(site, address)`: an access whose size and kind the site table knows.
    pub access: *const (),
    /// `(site, address, length)`: an access of a size known only now.
    pub range: *const (),
    /// `(site, destination, source, length)`: reads the source, then writes the destination.
    pub copy: *const (),
    /// `(site)`: a fence.
    pub fence: *const (),
    /// `(gate) -> bool in al`: whether to skip this iteration. Asked once per iteration.
    pub iteration: *const (),
    /// `(gate) -> bool in al`: whether to skip the body of this thread.
    pub body: *const (),
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
