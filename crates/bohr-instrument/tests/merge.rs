//! Merging: what joins, what is left out and told, what is refused.

mod support;

use bohr_instrument::inkwell::context::Context;
use bohr_instrument::merge::{MergeError, Part, PartIndex, merge};
use support::compile;

#[test]
fn unneeded_functions_go_and_needed_ones_stay() {
    let directory = tempfile::tempdir().expect("directory");
    let source = "int unused(void) { return 1; } int callback(void) { return 2; }
        __attribute__((used)) static int marked(void) { return 3; }
        int assembled(void) { return 4; } __asm__(\".globl from_asm\\nfrom_asm: jmp assembled\\n\");
        void *memset(void *p, int c, unsigned long n) { char *q = p; while (n--) *q++ = (char)c; return p; }
        int main(void) { return 0; }";
    let part = compile(
        directory.path(),
        "main.c",
        source,
        &["-O1", "-ffreestanding"],
    );
    let context = Context::create();
    let needed = |name: &str| name == "main" || name == "callback";
    let merged = merge(&context, &[part.part()], &needed).expect("merges");
    let mut names: Vec<String> = merged
        .module
        .get_functions()
        .filter(|function| function.get_first_basic_block().is_some())
        .map(|function| function.get_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["assembled", "callback", "main", "marked", "memset"]);
}

#[test]
fn a_part_with_contradicting_flags_is_left_out_and_told() {
    let directory = tempfile::tempdir().expect("directory");
    let first = compile(
        directory.path(),
        "one.c",
        "int main(void) { return 0; }",
        &[],
    );
    let text = "target triple = \"x86_64-unknown-linux-gnu\"\n!llvm.module.flags = !{!0}\n\
        !0 = !{i32 1, !\"wchar_size\", i32 2}\ndefine i32 @two() { ret i32 2 }\n";
    let contradicting = assemble(directory.path(), text);
    let context = Context::create();
    let parts = [
        first.part(),
        Part {
            name: "two.o",
            bitcode: &contradicting,
            language: None,
        },
    ];
    let merged = merge(&context, &parts, &|name| name == "main").expect("merges");
    assert_eq!(merged.excluded.len(), 1);
    assert_eq!(merged.excluded[0].part, PartIndex(1));
    assert!(
        merged.excluded[0].reason.contains("wchar_size"),
        "{:?}",
        merged.excluded
    );
    assert!(merged.module.get_function("main").is_some());
    assert!(merged.module.get_function("two").is_none());
}

fn assemble(directory: &std::path::Path, text: &str) -> Vec<u8> {
    let (source, output) = (directory.join("two.ll"), directory.join("two.bc"));
    std::fs::write(&source, text).expect("source");
    support::run(
        std::process::Command::new("llvm-as-22")
            .arg(&source)
            .arg("-o")
            .arg(&output),
    );
    std::fs::read(output).expect("bitcode")
}

#[test]
fn another_machine_is_refused_by_name() {
    let directory = tempfile::tempdir().expect("directory");
    let bitcode = assemble(
        directory.path(),
        "target triple = \"aarch64-unknown-linux-gnu\"\n",
    );
    let context = Context::create();
    let error = merge(
        &context,
        &[Part {
            name: "arm.o",
            bitcode: &bitcode,
            language: None,
        }],
        &|_| true,
    )
    .err();
    assert!(
        matches!(&error, Some(MergeError::ForeignTarget { part, triple })
            if part == "arm.o" && triple.starts_with("aarch64")),
        "{error:?}"
    );
}

#[test]
fn damaged_bitcode_is_refused_and_named() {
    let directory = tempfile::tempdir().expect("directory");
    let part = compile(
        directory.path(),
        "main.c",
        "int main(void) { return 0; }",
        &["-O1"],
    );
    let context = Context::create();
    let refused = |bitcode: &[u8]| {
        let error = merge(
            &context,
            &[Part {
                name: "main.o",
                bitcode,
                language: None,
            }],
            &|_| true,
        )
        .err();
        matches!(error, Some(MergeError::Unreadable { part, .. }) if part == "main.o")
    };
    assert!(refused(b"no bitcode at all"));
    assert!(refused(&part.bitcode[..part.bitcode.len() / 2]));
    assert!(refused(&[]));
}

#[test]
fn c_cpp_and_rust_become_one_module() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path();
    let parts = [
        compile(
            path,
            "main.c",
            "int cpp(int); int main(void) { return cpp(1); }",
            &["-O2", "-g"],
        ),
        compile(
            path,
            "part.cc",
            "#include <vector>\nextern \"C\" int rust(int); extern \"C\" int cpp(int x) { std::vector<int> v(3, x); return rust(v[1]); }",
            &["-O2", "-g"],
        ),
        compile(
            path,
            "part.rs",
            "#[unsafe(no_mangle)] pub extern \"C\" fn rust(x: i32) -> i32 { x.rotate_left(3) }",
            &["-Copt-level=2", "-g"],
        ),
    ];
    let context = Context::create();
    let parts: Vec<Part<'_>> = parts.iter().map(support::Compiled::part).collect();
    let merged = merge(&context, &parts, &|name| name == "main").expect("merges");
    assert!(merged.excluded.is_empty(), "{:?}", merged.excluded);
    for name in ["main", "cpp", "rust"] {
        assert!(merged.module.get_function(name).is_some(), "{name}");
    }
}
