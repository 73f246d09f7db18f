//! The header in front of every heap block.

use bohr_event::ThreadIndex;

/// Bytes of a header; also the alignment of all blocks.
pub const SIZE: usize = 16;

/// Where a block is in its life. The numbers are unlikely bytes, so that an
/// overwritten header is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// Given out.
    Used = 0xb10c_05ed,
    /// Freed, in quarantine or ready for use.
    Freed = 0xb10c_f4ee,
    /// Not a block: leads to one that begins before it, for the sake of alignment.
    Shifted = 0xb10c_5417,
}

/// Size and state of a block.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    /// Usable bytes; for [`State::Shifted`] the distance to the real block. No block
    /// is larger than half a region, so that the number fits.
    size: u32,
    /// Bytes that the program asked for.
    asked: u32,
    state: u32,
    /// Number of its size class.
    class: u16,
    /// The thread that freed it, as far as the number goes.
    freed_by: u16,
}

impl Header {
    /// The header of the block with this payload.
    pub fn of(payload: usize) -> &'static mut Header {
        // SAFETY: payloads lie in mapped regions behind at least one header's
        // worth of bytes; nobody keeps the reference.
        unsafe { &mut *((payload - SIZE) as *mut Header) }
    }

    /// Makes a header for a fresh block.
    pub fn write(payload: usize, size: usize, class: usize) {
        *Header::of(payload) = Header {
            size: size as u32,
            asked: size as u32,
            state: State::Used as u32,
            class: class as u16,
            freed_by: 0,
        };
    }

    /// Makes `aligned` lead to `payload`.
    pub fn shift(payload: usize, aligned: usize) {
        *Header::of(aligned) = Header {
            size: (aligned - payload) as u32,
            asked: 0,
            state: State::Shifted as u32,
            class: 0,
            freed_by: 0,
        };
    }

    /// Usable bytes.
    pub fn size(&self) -> usize {
        self.size as usize
    }

    /// Bytes that the program asked for.
    pub fn asked(&self) -> usize {
        self.asked as usize
    }

    /// Sets it.
    pub fn set_asked(&mut self, asked: usize) {
        self.asked = asked as u32;
    }

    /// Number of its size class.
    pub fn class(&self) -> usize {
        usize::from(self.class)
    }

    /// The thread that freed it.
    pub fn freed_by(&self) -> ThreadIndex {
        ThreadIndex(u32::from(self.freed_by))
    }

    /// Sets it.
    pub fn set_freed_by(&mut self, thread: ThreadIndex) {
        self.freed_by = thread.0 as u16;
    }

    /// Where it is in its life; `None` if this is no header.
    pub fn state(&self) -> Option<State> {
        [State::Used, State::Freed, State::Shifted]
            .into_iter()
            .find(|&state| state as u32 == self.state)
    }

    /// Sets it.
    pub fn set_state(&mut self, state: State) {
        self.state = state as u32;
    }
}
