//! Names of parts that do not change from build to build. Compilers give
//! temporary objects random names; a bundle with those in it would be another
//! program after every build.

use bohr_bundle::Origin;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// Directories in which bohr's rustc wrapper lets rustc work begin so.
pub(crate) const SCRATCH: &str = ".bohr-";

/// The last component of the directory in which linker drivers find bohr.
pub(crate) const LINKERS: &str = "bohr-linkers";

/// Where a part came from, without what is different in every build.
pub(super) fn origin(path: &Path, member: Option<&str>) -> Origin {
    let path = without_scratch(path);
    let name = path
        .file_name()
        .map(OsStr::to_string_lossy)
        .unwrap_or_default();
    let path = match stable_name(&path, &name) {
        Some(stable) => path.with_file_name(stable),
        None => path.clone(),
    };
    Origin {
        path: path.to_string_lossy().into_owned(),
        member: member.map(str::to_owned),
    }
}

/// Whether a directory belongs to one build only, or to bohr.
pub(super) fn is_scratch(directory: &Path) -> bool {
    without_scratch(directory) != directory || directory.ends_with(LINKERS)
}

fn without_scratch(path: &Path) -> PathBuf {
    let is_random =
        |name: &str| name.starts_with(SCRATCH) || (name.len() == 11 && name.starts_with("rustc"));
    let file = path.file_name();
    path.components()
        .filter(|component| match component {
            Component::Normal(name) if Some(*name) != file => !name.to_str().is_some_and(is_random),
            _ => true,
        })
        .collect()
}

fn stable_name(path: &Path, name: &str) -> Option<String> {
    if name.ends_with(".rcgu.o") {
        return without_session(name);
    }
    let temporary = path.parent() == Some(&std::env::temp_dir());
    if temporary {
        without_suffix(name)
    } else {
        None
    }
}

/// rustc, incremental: `crate-hash.unit.session.rcgu.o`.
fn without_session(name: &str) -> Option<String> {
    match name.split('.').collect::<Vec<_>>()[..] {
        [file, unit, _session, "rcgu", "o"] => Some(format!("{file}.{unit}.rcgu.o")),
        _ => None,
    }
}

/// clang, compiling and linking in one call: `name-123abc.o`.
fn without_suffix(name: &str) -> Option<String> {
    let (stem, extension) = name.rsplit_once('.')?;
    let (stem, suffix) = stem.rsplit_once('-')?;
    let random = suffix.len() == 6 && suffix.bytes().all(|byte| byte.is_ascii_hexdigit());
    random.then(|| format!("{stem}.{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_random_is_left_out_of_names() {
        let temporary = std::env::temp_dir();
        let cases = [
            (temporary.join("main-0a1b2c.o"), temporary.join("main.o")),
            ("build/main-0a1b2c.o".into(), "build/main-0a1b2c.o".into()),
            (
                "target/deps/.bohr-app-1/app-1.3f0q.0o37fnx.rcgu.o".into(),
                "target/deps/app-1.3f0q.rcgu.o".into(),
            ),
            (
                "target/deps/.bohr-app-1/app-1.app.855-cgu.0.rcgu.o".into(),
                "target/deps/app-1.app.855-cgu.0.rcgu.o".into(),
            ),
            (
                "/t/deps/.bohr-app-1/rustcAbC123/symbols.o".into(),
                "/t/deps/symbols.o".into(),
            ),
            ("/usr/lib/crt1.o".into(), "/usr/lib/crt1.o".into()),
        ];
        for (given, expected) in cases {
            let expected = Origin::file(expected.to_str().unwrap());
            assert_eq!(origin(&given, None), expected);
        }
    }

    #[test]
    fn directories_of_one_build_are_known() {
        assert!(is_scratch(Path::new(
            "/t/deps/.bohr-app-1/rustcAbC123/raw-dylibs"
        )));
        assert!(is_scratch(Path::new("/cache/links-1/bohr-linkers")));
        assert!(!is_scratch(Path::new("/usr/lib/gcc")));
    }
}
