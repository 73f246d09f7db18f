//! Checks and completes the stubs of a linked program.
//!
//! A stub computes its address after a return address and two words have been
//! pushed. Addresses that LLVM counts from the stack pointer are therefore off
//! by those 24 bytes; only here, where the instruction is known, can they be put
//! right. Every stub is decoded on the way: a program whose stubs are not what
//! the runtime expects is never handed out.

use bohr_event::abi::Stub;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StubCount {
    /// All stubs.
    pub stubs: u32,
    /// Those whose address counts from the stack pointer.
    pub on_stack: u32,
}

/// Size of a stub with its padding.
const SIZE: usize = size_of::<Stub>();
/// Where the code begins.
const CODE: usize = 4;
/// Length of `pushq $site`.
const PUSH_SITE: usize = 5;
/// Length of `jmp thunk`.
const JUMP: usize = 5;
/// What is pushed before the address is computed: return address, site, `r11`.
const PUSHED: i32 = 24;

/// Why bytes are not the stubs of a program; always our bug.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StubError {
    /// The section is no whole number of stubs.
    #[error("the section of stubs has {0} bytes, expected a multiple of {SIZE}")]
    Length(usize),
    /// A stub does not look like one.
    #[error("stub {position} has unexpected code {code:02x?}")]
    Code {
        /// Its position.
        position: usize,
        /// Its bytes.
        code: Vec<u8>,
    },
}

/// Completes all stubs in the bytes of their section.
///
/// # Errors
/// If something in there is not a stub.
pub fn complete(section: &mut [u8]) -> Result<StubCount, StubError> {
    if !section.len().is_multiple_of(SIZE) {
        return Err(StubError::Length(section.len()));
    }
    let mut count = StubCount::default();
    for (position, stub) in section.chunks_exact_mut(SIZE).enumerate() {
        match complete_one(stub) {
            Some(on_stack) => {
                count.stubs += 1;
                count.on_stack += u32::from(on_stack);
            }
            None => {
                let code = stub[CODE..].to_vec();
                return Err(StubError::Code { position, code });
            }
        }
    }
    Ok(count)
}

/// Whether the stub counted from the stack pointer; `None` if it is no stub.
fn complete_one(stub: &mut [u8]) -> Option<bool> {
    let code = &mut stub[CODE..];
    if code[0] != 0x68 {
        return None;
    }
    let rest = &mut code[PUSH_SITE..];
    match rest {
        // Also the first argument of another hook can be in r11; what follows
        // tells: only a 64-bit move or `lea` begins with this prefix.
        [0x41, 0x53, prefix, ..] if is_wide(*prefix) => complete_address(&mut rest[2..]),
        _ => ends_in_jump(rest).then_some(false),
    }
}

/// The prefix that makes an instruction 64 bits wide, with or without extensions
/// of its registers.
fn is_wide(prefix: u8) -> bool {
    prefix & 0xf8 == 0x48
}

/// After the pushes of arguments, registers or numbers.
fn ends_in_jump(mut code: &[u8]) -> bool {
    loop {
        code = match code {
            [0xe9, ..] => return true,
            [0x50..=0x57, rest @ ..] | [0x41, 0x50..=0x57, rest @ ..] => rest,
            [0x6a, _, rest @ ..] | [0x68, _, _, _, _, rest @ ..] => rest,
            _ => return false,
        };
    }
}

/// `movq register, %r11`, or `leaq address, %r11`; then the jump.
fn complete_address(code: &mut [u8]) -> Option<bool> {
    let [prefix, opcode, form, scaled, ..] = *code else {
        return None;
    };
    if matches!(opcode, 0x89 | 0x8b) && form >= 0xc0 {
        return (code[3] == 0xe9).then_some(false);
    }
    // `lea` into r11: the extension bit of the register, and its low bits 3.
    if opcode != 0x8d || prefix & 4 == 0 || form & 0x38 != 3 << 3 || form >= 0xc0 {
        return None;
    }
    let has_scaled = form & 7 == 4;
    let start = 3 + usize::from(has_scaled);
    let displacement = match form >> 6 {
        1 => 1,
        2 => 4,
        // Relative to the instruction pointer, or absolute.
        _ if form & 7 == 5 || (has_scaled && scaled & 7 == 5) => 4,
        _ => 0,
    };
    if *code.get(start + displacement)? != 0xe9 {
        return None;
    }
    let from_stack = has_scaled && scaled & 7 == 4 && prefix & 1 == 0;
    if from_stack {
        add_to_displacement(code, start, displacement);
    }
    Some(from_stack)
}

/// Rewrites the instruction with a displacement of four bytes and moves the jump
/// behind it, which then lies as much farther from its target.
fn add_to_displacement(code: &mut [u8], start: usize, length: usize) {
    let old = match length {
        0 => 0,
        1 => i32::from(code[start].cast_signed()),
        _ => i32::from_le_bytes([
            code[start],
            code[start + 1],
            code[start + 2],
            code[start + 3],
        ]),
    };
    let moved = 4 - length;
    let jump = start + length;
    let target = i32::from_le_bytes([
        code[jump + 1],
        code[jump + 2],
        code[jump + 3],
        code[jump + 4],
    ]);
    let target = target.wrapping_sub(moved as i32);
    code[2] = code[2] & 0x3f | 0x80;
    code[start..start + 4].copy_from_slice(&old.wrapping_add(PUSHED).to_le_bytes());
    let jump = start + 4;
    code[jump] = 0xe9;
    code[jump + 1..jump + JUMP].copy_from_slice(&target.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stub(instruction: &[u8]) -> [u8; SIZE] {
        let mut bytes = [0xcc; SIZE];
        let code = [&[0, 0, 0, 0, 0x68, 7, 0, 0, 0][..], instruction].concat();
        bytes[..code.len()].copy_from_slice(&code);
        bytes
    }

    #[track_caller]
    fn completed(instruction: &[u8]) -> (StubCount, Vec<u8>) {
        let mut bytes = stub(instruction);
        let count = complete(&mut bytes).expect("a stub");
        (count, bytes[9..].to_vec())
    }

    #[test]
    fn addresses_on_the_stack_are_put_right() {
        // leaq 16(%rsp), %r11 becomes leaq 40(%rsp), %r11 with four bytes.
        let (count, code) = completed(&[
            0x41, 0x53, 0x4c, 0x8d, 0x5c, 0x24, 0x10, 0xe9, 0x00, 0x01, 0x00, 0x00,
        ]);
        assert_eq!(
            count,
            StubCount {
                stubs: 1,
                on_stack: 1
            }
        );
        let expected = [
            0x41, 0x53, 0x4c, 0x8d, 0x9c, 0x24, 0x28, 0, 0, 0, 0xe9, 0xfd, 0x00, 0x00, 0x00,
        ];
        assert_eq!(code[..15], expected);
        // leaq (%rsp,%rax,4), %r11 gains a displacement.
        let (count, code) = completed(&[0x41, 0x53, 0x4c, 0x8d, 0x1c, 0x84, 0xe9, 4, 0, 0, 0]);
        assert_eq!(count.on_stack, 1);
        assert_eq!(
            code[..11],
            [0x41, 0x53, 0x4c, 0x8d, 0x9c, 0x84, 0x18, 0, 0, 0, 0xe9]
        );
        // leaq (%r12), %r11 looks similar and is something else.
        let (count, _) = completed(&[0x41, 0x53, 0x4d, 0x8d, 0x1c, 0x24, 0xe9, 4, 0, 0, 0]);
        assert_eq!(
            count,
            StubCount {
                stubs: 1,
                on_stack: 0
            }
        );
    }

    #[test]
    fn other_stubs_stay_as_they_are() {
        for instruction in [
            &[0x41, 0x53, 0x4c, 0x8d, 0x1d, 1, 2, 3, 4, 0xe9, 0, 0, 0, 0][..], // lea 0x4030201(%rip)
            &[0x41, 0x53, 0x4c, 0x8d, 0x5f, 0x08, 0xe9, 0, 0, 0, 0],           // lea 8(%rdi)
            &[0x41, 0x53, 0x49, 0x89, 0xc3, 0xe9, 0, 0, 0, 0],                 // mov %rax, %r11
            &[0x57, 0x41, 0x52, 0x6a, 0x08, 0xe9, 0, 0, 0, 0],                 // push rdi, r10, 8
            &[0x41, 0x53, 0x52, 0xe9, 0, 0, 0, 0],                             // push r11, rdx
            &[0xe9, 0, 0, 0, 0],
        ] {
            let mut bytes = stub(instruction);
            let before = bytes;
            let count = complete(&mut bytes).expect("a stub");
            assert_eq!((count.on_stack, bytes), (0, before), "{instruction:02x?}");
        }
    }

    #[test]
    fn what_is_no_stub_is_refused() {
        // A segment prefix: the address would be wrong.
        let mut bytes = stub(&[0x41, 0x53, 0x64, 0x4c, 0x8d, 0x1d, 1, 2, 3, 4, 0xe9]);
        assert!(matches!(
            complete(&mut bytes),
            Err(StubError::Code { position: 0, .. })
        ));
        assert_eq!(complete(&mut [0; 33]), Err(StubError::Length(33)));
    }
}
