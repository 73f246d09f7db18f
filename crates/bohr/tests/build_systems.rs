//! Projects that know nothing of bohr, built by their own build systems with
//! nothing but the compilers replaced.

use crate::project;

use project::{Parts, Project, expect_success};

#[test]
fn make_with_an_archive_assembly_and_install() {
    let project = Project::copy_of("make");
    let mut make = project.command("make", &["-e", "install", "DESTDIR=root"]);
    make.env_remove("CFLAGS");
    expect_success(make);
    // The archive's unused member is not part of the program.
    let parts = Parts::of(&["main.o", "tally.o"], &["spin.o"]);
    for program in ["counter", "root/bin/counter"] {
        assert_eq!(project.parts(program), parts);
        assert_eq!(
            project.run(project.path(program).to_str().unwrap(), &[]),
            "42\n"
        );
    }
    // Dependency files are clang's: a changed header rebuilds what includes it.
    assert!(project.path("main.d").exists());
}

#[test]
fn autotools_with_libtool() {
    let project = Project::copy_of("autotools");
    project.run("autoreconf", &["-fi"]);
    project.run("./configure", &["-q"]);
    let config = std::fs::read_to_string(project.path("config.log")).unwrap();
    assert!(config.contains("ac_cv_c_compiler_gnu=yes"));
    project.run("make", &["-s"]);
    assert_eq!(project.run("./greeter", &[]), "42\n");
    // libtool leaves a script at the asked-for path and the program in .libs.
    assert_eq!(project.parts(".libs/greeter"), Parts::of(&["main.o"], &[]));
    assert_eq!(
        project.parts(".libs/libgreet.so.0.0.0"),
        Parts::of(&["greet.o"], &[])
    );
}

#[test]
fn cmake_with_a_shared_library_and_members_of_one_name() {
    let project = Project::copy_of("cmake");
    let c = format!("-DCMAKE_C_COMPILER={}", project.compiler("bohr-cc"));
    let cxx = format!("-DCMAKE_CXX_COMPILER={}", project.compiler("bohr-c++"));
    let release = "-DCMAKE_BUILD_TYPE=RelWithDebInfo";
    project.run("cmake", &["-S", ".", "-B", "out", release, &c, &cxx]);
    project.run("cmake", &["--build", "out"]);
    assert_eq!(project.run("out/queue", &[]), "42\n");
    let parts = project.parts("out/queue");
    assert_eq!(parts, Parts::of(&["main.cpp.o", "item.cpp.o"], &[]));
    assert_eq!(
        project.parts("out/libshared_piece.so"),
        Parts::of(&["shared.c.o"], &[])
    );
    assert!(
        contents_of_item(&project)
            .windows(8)
            .any(|text| text == b"own_item")
    );
}

/// Of the two members `item.cpp.o` the linker took one.
fn contents_of_item(project: &Project) -> Vec<u8> {
    let program = std::fs::read(project.path("out/queue")).unwrap();
    let bundle = bohr_bundle::Bundle::in_program(&program).unwrap();
    let (id, _) = bundle
        .numbered_parts()
        .find(|(_, part)| part.origin.member.as_deref() == Some("item.cpp.o"))
        .unwrap();
    bundle.contents(id).unwrap()
}

#[test]
fn meson_with_ninja() {
    let project = Project::copy_of("meson");
    project.run("meson", &["setup", "out"]);
    project.run("meson", &["compile", "-C", "out"]);
    assert_eq!(project.run("out/ring", &[]), "42\n");
    assert_eq!(
        project.parts("out/ring"),
        Parts::of(&["main.cpp.o", "ring.c.o"], &[])
    );
}
