//! A workspace with a build script, a procedural macro and a C part.

use crate::project;

use bohr_bundle::{Bundle, Language, Level};
use project::{Parts, Project};

fn own_parts(parts: &Parts, prefix: &str) -> usize {
    let own = parts.bitcode.iter().filter(|name| name.starts_with(prefix));
    own.count()
}

/// The workspace, with cargo free to choose its C compiler.
fn workspace() -> Project {
    Project::copy_of("cargo")
}

fn cargo(project: &Project, arguments: &[&str]) -> String {
    let mut words = vec!["cargo"];
    words.extend(arguments);
    let mut command = project.command(project::BOHR, &words);
    command
        .env_remove("CC")
        .env_remove("CXX")
        .env("CARGO_NET_OFFLINE", "true");
    project::expect_success(command)
}

#[test]
fn programs_carry_their_own_crate_libraries_std_and_c() {
    let project = workspace();
    for (arguments, program) in [
        (&["run", "-q"][..], "target/debug/app"),
        (&["run", "-q", "--release"], "target/release/app"),
    ] {
        assert_eq!(cargo(&project, arguments), "Rectangle 42\n");
        let parts = project.parts(program);
        assert_eq!(parts.native, Vec::<String>::new());
        assert!(own_parts(&parts, "app-") >= 2, "{parts:?}");
        assert!(own_parts(&parts, "std-") >= 1, "{parts:?}");
        assert!(
            parts.bitcode.iter().any(|name| name.ends_with("area.o")),
            "{parts:?}"
        );
    }
    // Nothing that a plain build would not leave, but for the levels of libraries.
    let leftover = std::fs::read_dir(project.path("target/debug/deps"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .find(|name| {
            name.contains(".rcgu.") || name.starts_with(".bohr") || name.starts_with("rmeta")
        });
    assert_eq!(leftover, None);
}

#[test]
fn codegen_units_stay_as_they_are() {
    let project = workspace();
    cargo(&project, &["build", "-q"]);
    let with = own_parts(&project.parts("target/debug/app"), "app-");
    // One unit would mean that asking for bitcode had merged them.
    assert!(with > 10, "{with}");

    // A second build takes over all units but the changed one.
    let main = std::fs::read_to_string(project.path("app/src/main.rs")).unwrap();
    project.write("app/src/main.rs", &main.replace("area(3, 7)", "area(4, 7)"));
    assert_eq!(cargo(&project, &["run", "-q"]), "Rectangle 56\n");
    assert_eq!(
        project.parts("target/debug/app").native,
        Vec::<String>::new()
    );
    assert_eq!(own_parts(&project.parts("target/debug/app"), "app-"), with);
}

#[test]
fn a_clean_build_of_the_same_sources_is_the_same_program() {
    let project = workspace();
    let hash = || {
        cargo(&project, &["clean", "-q", "-p", "app"]);
        cargo(&project, &["build", "-q"]);
        let bytes = std::fs::read(project.path("target/debug/app")).unwrap();
        Bundle::in_program(&bytes).unwrap().hash()
    };
    assert_eq!(hash(), hash());
}

#[test]
fn tests_and_examples_are_programs_too() {
    let project = workspace();
    let output = cargo(&project, &["test", "-q", "--workspace"]);
    assert!(output.contains("1 passed"), "{output}");
    assert_eq!(
        cargo(&project, &["run", "-q", "--example", "small"]),
        "example 4\n"
    );
    assert_eq!(
        project.parts("target/debug/examples/small").native,
        Vec::<String>::new()
    );
    let deps = std::fs::read_dir(project.path("target/debug/deps")).unwrap();
    let harnesses: Vec<String> = deps
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("sides-") && !name.contains('.'))
        .collect();
    assert_eq!(harnesses.len(), 1);
    let parts = project.parts(&format!("target/debug/deps/{}", harnesses[0]));
    assert!(
        own_parts(&parts, "test-") >= 1,
        "libtest is part of it: {parts:?}"
    );
}

#[test]
fn a_plain_build_is_not_mistaken_for_one_of_bohrs() {
    // No build script: one that runs again would rebuild the program anyway.
    let project = Project::of(&[(
        "Cargo.toml",
        "[workspace]\n[package]\nname = 'plain'\nversion = '0.1.0'\nedition = '2024'\n",
    )]);
    std::fs::create_dir(project.path("src")).unwrap();
    project.write("src/main.rs", "fn main() {}");
    project.run("cargo", &["build", "-q", "--offline"]);
    let bytes = std::fs::read(project.path("target/debug/plain")).unwrap();
    assert!(Bundle::in_program(&bytes).is_err());
    cargo(&project, &["build", "-q"]);
    assert!(own_parts(&project.parts("target/debug/plain"), "plain-") > 0);
}

#[test]
fn flags_linker_and_target_of_the_user_stay() {
    let project = workspace();
    std::fs::create_dir(project.path(".cargo")).unwrap();
    project.write(
        ".cargo/config.toml",
        "[target.x86_64-unknown-linux-gnu]\nlinker = 'clang-22'\nrustflags = ['--cfg', 'extra', \
         '-C', 'link-arg=-fuse-ld=bfd']\n[profile.release]\nlto = 'fat'\n",
    );
    let target = [
        "run",
        "-q",
        "--release",
        "--target",
        "x86_64-unknown-linux-gnu",
    ];
    assert_eq!(cargo(&project, &target), "Rectangle 42\n");
    let program = "target/x86_64-unknown-linux-gnu/release/app";
    let bytes = std::fs::read(project.path(program)).unwrap();
    let bundle = Bundle::in_program(&bytes).unwrap();
    assert!(
        bundle.link().linker.ends_with("ld.bfd"),
        "{}",
        bundle.link().linker
    );
    assert_eq!(project.parts(program).native, Vec::<String>::new());
}

#[test]
fn every_crate_keeps_its_own_level() {
    let project = workspace();
    std::fs::create_dir(project.path(".cargo")).unwrap();
    project.write(
        ".cargo/config.toml",
        "[profile.dev]\nopt-level = 1\n[profile.dev.package.shape]\nopt-level = 's'\n",
    );
    // Only what is called is linked.
    let main = std::fs::read_to_string(project.path("app/src/main.rs")).unwrap();
    let calling = main.replacen(
        "{\n    let",
        "{\n    assert_eq!(shape::sides(), 4);\n    let",
        1,
    );
    project.write("app/src/main.rs", &calling);
    cargo(&project, &["build", "-q"]);
    let bytes = std::fs::read(project.path("target/debug/app")).unwrap();
    let bundle = Bundle::in_program(&bytes).unwrap();
    let levels = |file: &str| {
        let parts = bundle.parts().iter().filter(|part| {
            let name = part.origin.path.rsplit('/').next();
            name.is_some_and(|name| name.starts_with(file))
        });
        let mut levels: Vec<_> = parts.map(|part| part.language).collect();
        levels.dedup();
        levels
    };
    let rust = |level| vec![Some(Language::Rust { level })];
    assert_eq!(levels("app-"), rust(Some(Level::Less)));
    assert_eq!(levels("libshape-"), rust(Some(Level::Default)));
    // The standard library was built by others, and tells by itself.
    assert_eq!(levels("libstd-"), rust(None));
}
