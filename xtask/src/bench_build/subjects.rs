//! Real programs: how long their builds take, and how fast zstd is.

use super::measure::{least_of_both, quiet, seconds};
use super::{Ratio, Tools};
use crate::subjects::{Compilers, SUBJECTS, Subject, build, compile, unpack};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

/// What the user's own link-time optimisation takes. Some build scripts pass the
/// linker's name to compilations too and treat warnings as errors.
const LTO: &str = "-flto -fuse-ld=lld -Wno-unused-command-line-argument";

const TURNS: u32 = 3;
const INPUT: usize = 100_000_000;

/// A subject by its name.
pub fn subject(name: &str) -> Result<&'static Subject, String> {
    SUBJECTS
        .iter()
        .find(|subject| subject.name == name)
        .ok_or_else(|| format!("there is no subject {name}"))
}

fn with_bohr(tools: &Tools) -> Compilers {
    Compilers {
        cc: format!("{} cc", tools.bohr.display()),
        cxx: format!("{} c++", tools.bohr.display()),
    }
}

/// Building with bohr, times building with `clang -flto`.
pub fn build_time(tools: &Tools, name: &str) -> Result<Ratio, String> {
    let link_time = Compilers {
        cc: format!("clang-22 {LTO}"),
        cxx: format!("clang++-22 {LTO}"),
    };
    let subject = subject(name)?;
    let time = |compilers: &Compilers, folder: &str| {
        let directory = tools.folder.join(folder);
        // Unpacking is the same for both and does not count.
        unpack(subject, &directory)?;
        seconds(|| compile(subject, compilers, &directory))
    };
    let plain = time(&link_time, &format!("{name}-plain"))?;
    let bohr = time(&with_bohr(tools), &format!("{name}-bohr"))?;
    Ok(Ratio {
        what: format!("{name}: building with bohr, times clang -flto"),
        value: bohr / plain,
        most: 2.0,
    })
}

/// `zstd -T2` on 100 MB: the control profile with control off, times native.
pub fn zstd(tools: &Tools) -> Result<Ratio, String> {
    let directory = tools.folder.join("zstd");
    build(subject("zstd")?, &with_bohr(tools), &directory)?;
    let native = directory.join("libzstd/programs/zstd");
    let profile = tools.profile(&native, "zstd-control", &[])?.join("program");
    let input = tools.folder.join("text");
    write_text(&input).map_err(|error| error.to_string())?;
    let compress = |program: &Path| {
        quiet(
            Command::new(program)
                .args(["-T2", "-q", "-f", "-c"])
                .arg(&input),
        )
    };
    let (native, profile) = least_of_both(TURNS, || compress(&native), || compress(&profile))?;
    Ok(Ratio {
        what: "zstd -T2, 100 MB: control profile, control off, times native".into(),
        value: profile / native,
        most: 1.25,
    })
}

/// Words of a small language, always the same ones.
fn write_text(path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(fs::File::create(path)?);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut written = 0;
    while written < INPUT {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Squared, so that some words are frequent and most are rare.
        let rank = (state % 200) * (state / 200 % 200);
        let word = format!(
            "{:x}{} ",
            rank.wrapping_mul(0x9e37_79b9),
            ["", "\n", "ing", "ed"][(state >> 40) as usize % 4]
        );
        written += word.len();
        out.write_all(word.as_bytes())?;
    }
    out.flush()
}
