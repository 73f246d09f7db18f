//! A bundle in real programs: made by a real compiler, handled by the tools
//! that handle programs.

use bohr_bundle::{Bundle, BundleBuilder, BundleError, Content, LinkLine, Origin, attach};
use std::path::Path;
use std::process::Command;

fn bundle(payload: &[u8]) -> Vec<u8> {
    let mut builder = BundleBuilder::new(LinkLine::default());
    builder.add(Content::Bitcode, Origin::file("main.o"), None, payload);
    builder.finish()
}

fn run(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status().unwrap();
    assert!(status.success(), "{program} {arguments:?}: {status}");
}

/// A small program, linked with these options, that exits with 42.
fn program(directory: &Path, options: &[&str]) -> String {
    let source = directory.join("main.c");
    std::fs::write(
        &source,
        "int answer = 42; int main(void) { return answer; }",
    )
    .unwrap();
    let output = directory.join("app").to_str().unwrap().to_owned();
    let mut arguments = vec![source.to_str().unwrap(), "-o", &output];
    arguments.extend(options);
    run("clang-22", &arguments);
    output
}

fn attach_to(path: &str, bundle: &[u8]) {
    let program = std::fs::read(path).unwrap();
    let changed = attach(&program, bundle).unwrap().apply(&program);
    std::fs::write(path, changed).unwrap();
}

fn check(path: &str, payload: &[u8]) {
    let bytes = std::fs::read(path).unwrap();
    let bundle = Bundle::in_program(&bytes).unwrap();
    let (id, _) = bundle.numbered_parts().next().unwrap();
    assert_eq!(bundle.contents(id).unwrap(), payload);
    assert_eq!(Command::new(path).status().unwrap().code(), Some(42));
}

#[test]
fn the_bundle_survives_copying_and_stripping() {
    for options in [
        &["-g"][..],
        &["-static"],
        &["-no-pie", "-s"],
        &["-fuse-ld=lld-22", "-g"],
    ] {
        let directory = tempfile::tempdir().unwrap();
        let app = program(directory.path(), options);
        attach_to(&app, &bundle(b"one"));
        check(&app, b"one");

        let installed = directory.path().join("installed");
        let installed = installed.to_str().unwrap();
        run("install", &["-s", &app, installed]);
        check(installed, b"one");
        run("strip", &["-g", &app]);
        check(&app, b"one");
        run("strip", &[&app]);
        check(&app, b"one");
    }
}

#[test]
fn a_second_bundle_replaces_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let app = program(directory.path(), &["-g"]);
    attach_to(&app, &bundle(b"one"));
    attach_to(&app, &bundle(b"two"));
    check(&app, b"two");
    run("strip", &[&app]);
    check(&app, b"two");
}

#[test]
fn a_program_without_section_headers_can_carry_one() {
    let directory = tempfile::tempdir().unwrap();
    let app = program(
        directory.path(),
        &["-fuse-ld=lld-22", "-Wl,-z,nosectionheader"],
    );
    attach_to(&app, &bundle(b"one"));
    check(&app, b"one");
}

#[test]
fn files_without_a_bundle_are_refused_precisely() {
    let directory = tempfile::tempdir().unwrap();
    let app = program(directory.path(), &[]);
    let mut bytes = std::fs::read(&app).unwrap();
    assert_eq!(
        Bundle::in_program(&bytes).unwrap_err(),
        BundleError::Missing
    );
    // Another machine: 183 is AArch64.
    bytes[18] = 183;
    assert_eq!(
        attach(&bytes, b"").unwrap_err(),
        BundleError::NotElf("it is for machine 183".into())
    );
    assert!(matches!(
        Bundle::in_program(b"#!/bin/sh\n"),
        Err(BundleError::NotElf(_))
    ));
}

#[test]
fn damaged_programs_never_break_the_reader() {
    let directory = tempfile::tempdir().unwrap();
    let app = program(directory.path(), &[]);
    attach_to(&app, &bundle(b"one"));
    let bytes = std::fs::read(&app).unwrap();
    let header_and_tables = (0..64).chain(bytes.len() - 2600..bytes.len());
    for at in header_and_tables {
        for flip in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            // Either the change is outside of what matters, or there is an error.
            if let Ok(bundle) = Bundle::in_program(&changed) {
                assert_eq!(bundle.parts().len(), 1);
            }
            let _ = attach(&changed, b"x");
        }
    }
}
