//! What a linked object is worth to bohr: its bitcode, or the reason why it has none.

use super::alteration::{Alteration, alteration, file_symbols};
use super::bitcode::{Module, is_bitcode, modules};
use crate::rust::level;
use bohr_bundle::{Content, Language, NativeReason, is_system};
use object::elf::{EM_X86_64, FileHeader64};
use object::read::elf::{ElfFile64, FileHeader};
use object::{LittleEndian, Object, ObjectSection};
use std::borrow::Cow;
use std::path::Path;

/// Where clang's fat objects and the objects of Rust libraries have their bitcode.
const CLANG_SECTION: &str = ".llvm.lto";
const RUST_SECTION: &str = ".llvmbc";

/// What goes into the bundle for an object.
pub(super) struct Evaluated<'bytes> {
    pub(super) content: Content,
    pub(super) language: Option<Language>,
    pub(super) bytes: Cow<'bytes, [u8]>,
    /// Which of the sources of a partial link it is from.
    pub(super) source: Option<String>,
}

/// Looks for bitcode in an object, and beside it. An object that several were
/// linked into gives several.
pub(super) fn evaluate<'bytes>(
    path: &Path,
    member: Option<&str>,
    bytes: &'bytes [u8],
) -> Vec<Evaluated<'bytes>> {
    if member.is_some_and(is_builtin) {
        return native(bytes, NativeReason::Toolchain);
    }
    if is_bitcode(bytes) {
        return vec![bitcode(Cow::Borrowed(bytes), None)];
    }
    let place = path.to_string_lossy();
    let without = |reason| match is_toolchain(&place) && !is_rust_library(&place) {
        true => native(bytes, NativeReason::Toolchain),
        false => native(bytes, reason),
    };
    let file = match parse(bytes) {
        Ok(file) => file,
        Err(reason) => return without(reason),
    };
    match embedded(&file) {
        Some((section, code)) if is_bitcode(code) => match examine(&file, section, code) {
            Ok(modules) => parts(modules, language_of(section, path)),
            Err(reason) => native(bytes, reason),
        },
        // `-fembed-bitcode=marker` leaves an empty section.
        Some((_, code)) if !code.is_empty() => native(bytes, NativeReason::DamagedBitcode),
        _ => match beside(path, member) {
            Some(code) => {
                let level = level::of_own_crate();
                vec![bitcode(Cow::Owned(code), Some(Language::Rust { level }))]
            }
            None if file_symbols(&file) > 1 => without(NativeReason::PartiallyLinked),
            None => without(NativeReason::NoBitcode),
        },
    }
}

fn native(bytes: &[u8], reason: NativeReason) -> Vec<Evaluated<'_>> {
    vec![Evaluated {
        content: Content::Native(reason),
        language: None,
        bytes: Cow::Borrowed(bytes),
        source: None,
    }]
}

fn bitcode(bytes: Cow<'_, [u8]>, language: Option<Language>) -> Evaluated<'_> {
    Evaluated {
        content: Content::Bitcode,
        language,
        bytes,
        source: None,
    }
}

fn parts(modules: Vec<Module<'_>>, language: Language) -> Vec<Evaluated<'_>> {
    let several = modules.len() > 1;
    let mut parts = Vec::with_capacity(modules.len());
    for module in modules {
        parts.push(Evaluated {
            source: module.source.filter(|_| several),
            ..bitcode(Cow::Borrowed(module.bytes), Some(language))
        });
    }
    parts
}

fn parse(bytes: &[u8]) -> Result<ElfFile64<'_, LittleEndian>, NativeReason> {
    let header = FileHeader64::<LittleEndian>::parse(bytes);
    if header.is_ok_and(|header| header.e_machine(LittleEndian) != EM_X86_64) {
        return Err(NativeReason::OtherTarget);
    }
    ElfFile64::parse(bytes).map_err(|_| NativeReason::NoBitcode)
}

fn embedded<'bytes>(
    file: &ElfFile64<'bytes, LittleEndian>,
) -> Option<(&'static str, &'bytes [u8])> {
    [CLANG_SECTION, RUST_SECTION].into_iter().find_map(|name| {
        let section = file.section_by_name(name)?;
        Some((name, section.data().ok()?))
    })
}

fn language_of(section: &str, path: &Path) -> Language {
    match section {
        RUST_SECTION => Language::Rust {
            level: level::of_library(path),
        },
        _ => Language::Clang,
    }
}

/// The bitcode that stands for an object, or why it does not. That of Rust is from before
/// the parts of a crate have taken functions over from each other, with all that these
/// call, and have dropped or renamed what was left: there, the symbols of an object that
/// is as the compiler wrote it need not be those of its bitcode. Parts of which some were
/// bitcode and some were not would know each other by different names.
fn examine<'bytes>(
    file: &ElfFile64<'_, LittleEndian>,
    section: &str,
    code: &'bytes [u8],
) -> Result<Vec<Module<'bytes>>, NativeReason> {
    let modules = modules(code).ok_or(NativeReason::DamagedBitcode)?;
    let several = modules.len() > 1 || file_symbols(file) > 1;
    let is_original = !several && !is_rewritten(file);
    match alteration(file, &modules) {
        Alteration::None => Ok(modules),
        Alteration::Unknown if is_original => Ok(modules),
        Alteration::Altered if is_original && section == RUST_SECTION => Ok(modules),
        _ if several => Err(NativeReason::PartiallyLinked),
        _ => Err(NativeReason::Rewritten),
    }
}

/// LLVM keeps the names of sections and symbols in one table; the tools of
/// binutils write every object with two.
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

/// Directories of compilers, start files, and the archives of the C library
/// where the system keeps them: a project can have a `libutil.a` of its own.
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
        || (is_system(Path::new(path)) && archives.iter().any(|archive| name.starts_with(archive)))
        || (path.starts_with('/') && is_start_file(name))
        || is_symbol_list(path)
}

/// crt1.o, Scrt1.o, rcrt1.o, gcrt1.o, crti.o, crtn.o, crtbeginS.o …
fn is_start_file(name: &str) -> bool {
    let Some((_, kind)) = name
        .strip_suffix(".o")
        .and_then(|name| name.split_once("crt"))
    else {
        return false;
    };
    matches!(kind, "1" | "i" | "n" | "fastmath" | "32" | "64" | "80")
        || kind.starts_with("begin")
        || kind.starts_with("end")
        || kind.starts_with("prec")
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
            "/home/me/app/libutil.a",
            "/home/me/app/crtools.o",
            "crti.o",
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

    /// Two modules of a crate in which one takes over a function of the other, which calls
    /// the standard library.
    const CRATE: &str = "
        pub mod inner {
            fn deep(text: &str) -> usize { text.lines().map(|line| line.len()).sum() }
            pub fn size(text: &str) -> usize { if text.is_empty() { panic!(\"no text\") }; deep(text) }
        }
        pub mod outer {
            pub fn sizes(texts: &[String]) -> Vec<usize> {
                texts.iter().map(|text| crate::inner::size(text)).collect()
            }
        }
    ";

    #[test]
    fn parts_of_a_crate_that_took_functions_over_are_bitcode() {
        let folder = tempfile::tempdir().unwrap();
        let (source, library) = (
            folder.path().join("it.rs"),
            folder.path().join("libit.rlib"),
        );
        std::fs::write(&source, CRATE).unwrap();
        let mut rustc = std::process::Command::new("rustc");
        rustc.args(["--crate-type=rlib", "--crate-name=it", "-Copt-level=3"]);
        rustc.args(["-Ccodegen-units=4", "-Cembed-bitcode=yes", "-o"]);
        let status = rustc.arg(&library).arg(&source).status().unwrap();
        assert!(status.success());
        let bytes = std::fs::read(&library).unwrap();
        let archive = object::read::archive::ArchiveFile::parse(&*bytes).unwrap();
        let mut looked_at = 0;
        let mut taken_over = 0;
        for member in archive.members().map(Result::unwrap) {
            let name = String::from_utf8_lossy(member.name()).into_owned();
            if !name.ends_with(".rcgu.o") {
                continue;
            }
            let object = member.data(&*bytes).unwrap();
            let part = evaluate(&library, Some(&name), object).pop().unwrap();
            assert_eq!(part.content, Content::Bitcode, "{name}");
            let file = parse(object).unwrap();
            let code = embedded(&file).unwrap().1;
            let differs = alteration(&file, &modules(code).unwrap()) == Alteration::Altered;
            looked_at += 1;
            taken_over += usize::from(differs);
        }
        assert!(
            looked_at > 1 && taken_over > 0,
            "{taken_over} of {looked_at}"
        );
    }

    #[test]
    fn raw_bitcode_is_a_part_and_rubbish_is_not() {
        let content = |bytes| {
            evaluate(Path::new("a.o"), None, bytes)
                .pop()
                .unwrap()
                .content
        };
        assert_eq!(content(b"BC\xc0\xde...."), Content::Bitcode);
        let native = Content::Native(NativeReason::NoBitcode);
        assert_eq!(content(b"rubbish"), native);
    }
}
