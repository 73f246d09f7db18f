//! `cargo xtask bench build`: what building with bohr costs, and what the control
//! profile costs while control is off. All figures are ratios of processor time,
//! both sides measured in the same run, the best of several turns each.

mod measure;
pub mod sqlite;
mod subjects;

pub use subjects::subject;

use crate::bench::Bench;
use crate::{install, shell};
use std::path::{Path, PathBuf};
use std::process::Command;

pub const BENCH: Bench = Bench { name: "build", run };

/// A measured ratio and the most it may be.
struct Ratio {
    what: String,
    value: f64,
    most: f64,
}

/// Bohr's own programs, built for speed.
struct Tools {
    bohr: PathBuf,
    lower: PathBuf,
    /// Where everything is built.
    folder: PathBuf,
}

impl Tools {
    fn build() -> Result<Tools, String> {
        install::for_building()?;
        let packages = ["build", "--release", "-p", "bohr", "-p", "bohr-instrument"];
        shell::run(shell::cargo().args(packages))?;
        let release = shell::built("release");
        let folder = shell::built("bench-build");
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(Tools {
            bohr: release.join("bohr"),
            lower: release.join("bohr-lower"),
            folder,
        })
    }

    /// Makes a profile in a fresh folder; tells the folder.
    fn profile(&self, program: &Path, name: &str, options: &[&str]) -> Result<PathBuf, String> {
        let folder = self.folder.join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.lower);
        command.arg(program).arg(&folder).args(options);
        shell::run_quietly(&mut command, &self.folder.join(format!("{name}.log")))?;
        Ok(folder)
    }
}

/// `--only sqlite|zstd|pbzip2|memcached` measures a part.
fn run(arguments: &[String]) -> Result<(), String> {
    let only = match arguments {
        [] => None,
        [option, name] if option == "--only" => Some(name.as_str()),
        _ => return Err("usage: bench build [--only sqlite|zstd|pbzip2|memcached]".to_string()),
    };
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    let tools = Tools::build()?;
    let mut ratios = Vec::new();
    if wanted("sqlite") {
        ratios.extend(sqlite::measure(&tools)?);
    }
    if wanted("zstd") {
        ratios.push(subjects::zstd(&tools)?);
    }
    for name in ["pbzip2", "memcached"] {
        if wanted(name) {
            ratios.push(subjects::build_time(&tools, name)?);
        }
    }
    let missed: Vec<&str> = ratios
        .iter()
        .filter(|ratio| ratio.value > ratio.most)
        .map(|ratio| ratio.what.as_str())
        .collect();
    println!();
    for ratio in &ratios {
        let mark = if ratio.value > ratio.most {
            "  MISSED"
        } else {
            ""
        };
        println!(
            "{:62} {:6.2}   at most {:.2}{mark}",
            ratio.what, ratio.value, ratio.most
        );
    }
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("targets missed: {}", missed.join("; "))),
    }
}
