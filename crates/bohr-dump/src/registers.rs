//! What a thread's processor held, by the numbers that DWARF gives to registers.

use serde::Serialize;

/// Integer registers that DWARF numbers, the last one being the place of execution.
pub const COUNT: usize = 17;
/// The stack pointer.
pub const STACK_POINTER: u16 = 7;
/// The frame pointer, where there is one.
pub const FRAME_POINTER: u16 = 6;
/// Where the thread is, or will return to.
pub const PLACE: u16 = 16;
/// The first of the vector registers.
pub const FIRST_VECTOR: u16 = 17;

/// The kernel's order (`struct user_regs_struct`), by DWARF number.
const KERNEL_ORDER: [usize; COUNT] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16];
/// Where the kernel's order has the thread pointer.
const THREAD_POINTER: usize = 21;

/// Registers of one frame. Those that nobody has kept are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Registers {
    integers: [Option<u64>; COUNT],
    /// Lower halves of the vector registers, of the youngest frame only.
    vectors: Option<[u64; 16]>,
    /// Where thread-local storage lies.
    pub thread_pointer: u64,
}

impl Registers {
    /// From what the kernel writes into a core: 27 words.
    #[must_use]
    pub fn from_kernel(words: &[u64; 27]) -> Registers {
        Registers {
            integers: KERNEL_ORDER.map(|position| Some(words[position])),
            vectors: None,
            thread_pointer: words[THREAD_POINTER],
        }
    }

    /// The same thread, of whose registers nothing is known.
    #[must_use]
    pub fn forgotten(&self) -> Registers {
        Registers {
            thread_pointer: self.thread_pointer,
            ..Registers::default()
        }
    }

    /// The register with this number, if it is known.
    #[must_use]
    pub fn get(&self, register: u16) -> Option<u64> {
        match register.checked_sub(FIRST_VECTOR) {
            Some(vector) => self.vectors?.get(usize::from(vector)).copied(),
            None => self.integers[usize::from(register)],
        }
    }

    /// Sets an integer register; others are left alone.
    pub fn set(&mut self, register: u16, value: Option<u64>) {
        if let Some(place) = self.integers.get_mut(usize::from(register)) {
            *place = value;
        }
    }

    /// Sets the vector registers, or forgets them.
    pub fn set_vectors(&mut self, vectors: Option<[u64; 16]>) {
        self.vectors = vectors;
    }

    /// Where the thread is.
    #[must_use]
    pub fn place(&self) -> u64 {
        self.integers[usize::from(PLACE)].unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_kernel() {
        let words = std::array::from_fn(|position| position as u64);
        let registers = Registers::from_kernel(&words);
        // rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip.
        let expected = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16];
        for (number, word) in expected.into_iter().enumerate() {
            assert_eq!(registers.get(number as u16), Some(word));
        }
        assert_eq!(registers.thread_pointer, 21);
        assert_eq!(registers.get(FIRST_VECTOR), None);
    }
}
