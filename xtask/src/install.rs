//! Installs what the project needs and the machine lacks, and says so: Debian
//! packages through apt, Rust's own parts through rustup and cargo.

use crate::shell;
use std::process::Command;

/// A Debian package and a file that only it brings.
struct Package {
    name: &'static str,
    file: &'static str,
}

/// What building and running bohr takes.
const BUILD: &[Package] = &[
    Package {
        name: "clang-22",
        file: "/usr/bin/clang-22",
    },
    Package {
        name: "lld-22",
        file: "/usr/bin/ld.lld-22",
    },
    Package {
        name: "llvm-22-dev",
        file: "/usr/lib/llvm-22/include/llvm-c/Core.h",
    },
    Package {
        name: "libclang-rt-22-dev",
        file: "/usr/lib/llvm-22/lib/clang/22/include/sanitizer",
    },
    // With the C++ library of this Debian, whichever version that is.
    Package {
        name: "g++",
        file: "/usr/bin/g++",
    },
    Package {
        name: "make",
        file: "/usr/bin/make",
    },
];

/// What the tests take on top: compilers, libraries and build systems that a user
/// may have, a source of random programs, a solver to compare ours with, a renderer for graphs, a
/// browser.
const TEST: &[Package] = &[
    Package {
        name: "gcc",
        file: "/usr/bin/gcc",
    },
    Package {
        name: "binutils",
        file: "/usr/bin/objcopy",
    },
    Package {
        name: "mold",
        file: "/usr/bin/mold",
    },
    Package {
        name: "python3",
        file: "/usr/bin/python3",
    },
    Package {
        name: "python3-venv",
        file: "/usr/share/doc/python3-venv",
    },
    Package {
        name: "git",
        file: "/usr/bin/git",
    },
    Package {
        name: "zlib1g-dev",
        file: "/usr/include/zlib.h",
    },
    Package {
        name: "libomp-22-dev",
        file: "/usr/lib/llvm-22/lib/libomp.so",
    },
    Package {
        name: "procps",
        file: "/bin/kill",
    },
    Package {
        name: "z3",
        file: "/usr/bin/z3",
    },
    Package {
        name: "patch",
        file: "/usr/bin/patch",
    },
    // For the Java class of breakpoints.
    Package {
        name: "default-jdk-headless",
        file: "/usr/bin/javac",
    },
    Package {
        name: "cmake",
        file: "/usr/bin/cmake",
    },
    Package {
        name: "meson",
        file: "/usr/bin/meson",
    },
    Package {
        name: "ninja-build",
        file: "/usr/bin/ninja",
    },
    Package {
        name: "automake",
        file: "/usr/bin/automake",
    },
    Package {
        name: "libtool",
        file: "/usr/bin/libtoolize",
    },
    Package {
        name: "csmith",
        file: "/usr/bin/csmith",
    },
    Package {
        name: "libcsmith-dev",
        file: "/usr/include/csmith",
    },
    Package {
        name: "gdb",
        file: "/usr/bin/gdb",
    },
    Package {
        name: "graphviz",
        file: "/usr/bin/dot",
    },
    Package {
        name: "chromium",
        file: "/usr/bin/chromium",
    },
];

/// Installs what building bohr takes.
pub fn for_building() -> Result<(), String> {
    packages(BUILD)
}

/// Installs what the tests take.
pub fn for_testing() -> Result<(), String> {
    packages(BUILD)?;
    packages(TEST)?;
    for (command, component) in [("clippy", "clippy"), ("fmt", "rustfmt")] {
        if !shell::succeeds(shell::cargo().args([command, "--version"])) {
            eprintln!("installing Rust's {component}");
            shell::run(Command::new("rustup").args(["component", "add", component]))?;
        }
    }
    if !shell::succeeds(shell::cargo().args(["nextest", "--version"])) {
        eprintln!("installing cargo-nextest (this takes some minutes, once)");
        shell::run(shell::cargo().args(["install", "cargo-nextest", "--locked"]))?;
    }
    Ok(())
}

/// Installs what one task takes: package names, each with a file that only it brings.
pub fn needed(wanted: &[(&'static str, &'static str)]) -> Result<(), String> {
    let wanted: Vec<Package> = wanted
        .iter()
        .map(|&(name, file)| Package { name, file })
        .collect();
    packages(&wanted)
}

fn packages(wanted: &[Package]) -> Result<(), String> {
    let missing: Vec<&str> = wanted
        .iter()
        .filter(|package| !std::path::Path::new(package.file).exists())
        .map(|package| package.name)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("installing Debian packages: {}", missing.join(" "));
    if !shell::exists("apt-get") {
        return Err(format!(
            "no apt-get here; install these by hand: {}",
            missing.join(" ")
        ));
    }
    let mut update = apt();
    shell::run(update.arg("update").arg("-qq"))?;
    let mut install = apt();
    install
        .args(["install", "-y", "-qq", "--no-install-recommends"])
        .args(&missing);
    shell::run(&mut install)
}

/// apt-get, through sudo where the user is not root.
fn apt() -> Command {
    let root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|id| id.stdout == b"0\n");
    let mut command = Command::new(if root { "apt-get" } else { "sudo" });
    if !root {
        command.arg("apt-get");
    }
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}
