//! What a linked object is worth to bohr: its bitcode, or the reason why it has none.

use bohr_bundle::{Content, Language, NativeReason};
use object::elf::{EM_X86_64, FileHeader64, STT_FILE};
use object::read::elf::{ElfFile64, FileHeader};
use object::{LittleEndian, Object, ObjectSection};
use std::borrow::Cow;
use std::path::Path;

const BITCODE: &[u8] = b"BC\xc0\xde";
const WRAPPED_BITCODE: &[u8] = &0x0b17_c0de_u32.to_le_bytes();

/// Where compilers put bitcode: clang's fat objects, then rustc's rlibs.
const BITCODE_SECTIONS: [(&str, Language); 2] =
    [(".llvm.lto", Language::Clang), (".llvmbc", Language::Rust)];

/// What goes into the bundle for an object.
pub(super) struct Evaluated<'bytes> {
    pub(super) content: Content,
    pub(super) language: Option<Language>,
    pub(super) bytes: Cow<'bytes, [u8]>,
}

/// Looks for bitcode in an object, and beside it.
pub(super) fn evaluate<'bytes>(
    path: &Path,
    member: Option<&str>,
    bytes: &'bytes [u8],
) -> Evaluated<'bytes> {
    let native = |reason| Evaluated {
        content: Content::Native(reason),
        language: None,
        bytes: Cow::Borrowed(bytes),
    };
    let place = path.to_string_lossy();
    if (is_toolchain(&place) && !is_rust_library(&place)) || member.is_some_and(is_builtin) {
        return native(NativeReason::Toolchain);
    }
    if is_bitcode(bytes) {
        return bitcode(Cow::Borrowed(bytes), None);
    }
    let file = match parse(bytes) {
        Ok(file) => file,
        Err(reason) => return native(reason),
    };
    match embedded(&file) {
        Some((language, code)) if is_bitcode(code) => {
            if is_partially_linked(&file) {
                return native(NativeReason::PartiallyLinked);
            }
            if is_rewritten(&file) {
                return native(NativeReason::Rewritten);
            }
            bitcode(Cow::Borrowed(code), Some(language))
        }
        // `-fembed-bitcode=marker` leaves an empty section.
        Some((_, code)) if !code.is_empty() => native(NativeReason::DamagedBitcode),
        _ => match beside(path, member) {
            Some(code) => bitcode(Cow::Owned(code), Some(Language::Rust)),
            None => native(NativeReason::NoBitcode),
        },
    }
}

fn bitcode(bytes: Cow<'_, [u8]>, language: Option<Language>) -> Evaluated<'_> {
    Evaluated {
        content: Content::Bitcode,
        language,
        bytes,
    }
}

fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(BITCODE) || bytes.starts_with(WRAPPED_BITCODE)
}

fn parse(bytes: &[u8]) -> Result<ElfFile64<'_, LittleEndian>, NativeReason> {
    let header = FileHeader64::<LittleEndian>::parse(bytes);
    if header.is_ok_and(|header| header.e_machine(LittleEndian) != EM_X86_64) {
        return Err(NativeReason::OtherTarget);
    }
    ElfFile64::parse(bytes).map_err(|_| NativeReason::NoBitcode)
}

fn embedded<'bytes>(file: &ElfFile64<'bytes, LittleEndian>) -> Option<(Language, &'bytes [u8])> {
    BITCODE_SECTIONS.iter().find_map(|&(name, language)| {
        let section = file.section_by_name(name)?;
        Some((language, section.data().ok()?))
    })
}

/// A compiler writes one file symbol per object; `ld -r` keeps those of its
/// inputs, and which of them the bitcode is from cannot be told any more.
fn is_partially_linked(file: &ElfFile64<'_, LittleEndian>) -> bool {
    let symbols = file.elf_symbol_table().iter();
    symbols
        .filter(|symbol| symbol.st_type() == STT_FILE)
        .count()
        > 1
}

/// LLVM keeps the names of sections and symbols in one table; the tools of
/// binutils that change symbols write every object with two.
fn is_rewritten(file: &ElfFile64<'_, LittleEndian>) -> bool {
    file.section_by_name(".shstrtab").is_some()
}

/// rustc writes the bitcode of a program's own crate beside its objects.
fn beside(path: &Path, member: Option<&str>) -> Option<Vec<u8>> {
    if member.is_some() || !path.to_string_lossy().ends_with(".rcgu.o") {
        return None;
    }
    let code = std::fs::read(path.with_extension("bc")).ok()?;
    is_bitcode(&code).then_some(code)
}

/// Directories of compilers, start files, and the archives of the C library.
fn is_toolchain(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let compilers = ["/lib/gcc/", "/lib/clang/", "/lib/llvm-", "/rustlib/"];
    let archives = [
        "libc.a",
        "libc_nonshared.a",
        "libm.a",
        "libm-2",
        "libmvec.a",
        "libpthread.a",
        "libpthread_nonshared.a",
        "libdl.a",
        "librt.a",
        "libutil.a",
        "libstdc++.a",
        "libstdc++fs.a",
        "libsupc++.a",
        "libgcc",
        "libc++.a",
        "libc++abi.a",
        "libunwind.a",
        "libatomic.a",
        "libclang_rt.",
    ];
    compilers.iter().any(|directory| path.contains(directory))
        || archives.iter().any(|archive| name.starts_with(archive))
        || is_start_file(name)
        || is_symbol_list(path)
}

/// crt1.o, Scrt1.o, rcrt1.o, gcrt1.o, crti.o, crtn.o, crtbeginS.o …
fn is_start_file(name: &str) -> bool {
    name.ends_with(".o")
        && ["crt", "Scrt", "rcrt", "gcrt", "grcrt", "Mcrt"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// rustc's list of the symbols to export, an object without code.
fn is_symbol_list(path: &str) -> bool {
    let mut components = path.rsplit('/');
    components.next() == Some("symbols.o")
        && components
            .next()
            .is_some_and(|directory| directory.starts_with("rustc"))
}

/// The standard library carries its bitcode and is part of the program. What
/// the compiler itself calls is not: it must not be instrumented.
fn is_rust_library(path: &str) -> bool {
    path.contains("/rustlib/") && path.ends_with(".rlib") && !path.contains("libcompiler_builtins-")
}

/// The same, among the members of a static library that rustc made.
fn is_builtin(member: &str) -> bool {
    member.starts_with("compiler_builtins-") && member.ends_with(".rcgu.o")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_toolchain_is_known_by_its_path() {
        for path in [
            "/lib/x86_64-linux-gnu/Scrt1.o",
            "/usr/lib/gcc/x86_64-linux-gnu/12/crtbeginS.o",
            "/usr/lib/x86_64-linux-gnu/libc_nonshared.a",
            "/usr/lib/gcc/x86_64-linux-gnu/12/libgcc_eh.a",
            "/home/me/target/debug/deps/rustcAbC123/symbols.o",
            "/opt/rust/lib/rustlib/x86_64-unknown-linux-gnu/lib/libcompiler_builtins-1.rlib",
        ] {
            assert!(is_toolchain(path), "{path}");
        }
        for path in [
            "main.o",
            "libcrypto.a",
            "build/libcache.a",
            "symbols.o",
            "/usr/lib/libz.a",
        ] {
            assert!(!is_toolchain(path), "{path}");
        }
    }

    #[test]
    fn rusts_standard_library_is_part_of_the_program() {
        let directory = "/opt/rust/lib/rustlib/x86_64-unknown-linux-gnu/lib";
        let library = |name: &str| format!("{directory}/{name}");
        assert!(is_rust_library(&library("libstd-1.rlib")));
        assert!(!is_rust_library(&library("libcompiler_builtins-1.rlib")));
        assert!(is_builtin(
            "compiler_builtins-1.compiler_builtins.2-cgu.0.rcgu.o"
        ));
        assert!(!is_builtin("std-1.std.2-cgu.0.rcgu.o"));
    }

    #[test]
    fn raw_bitcode_is_a_part_and_rubbish_is_not() {
        let evaluate = |bytes| evaluate(Path::new("a.o"), None, bytes);
        assert_eq!(evaluate(b"BC\xc0\xde....").content, Content::Bitcode);
        let native = Content::Native(NativeReason::NoBitcode);
        assert_eq!(evaluate(b"rubbish").content, native);
    }
}
