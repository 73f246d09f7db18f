//! What is particular about shared libraries: their names, and whose code runs
//! together with theirs.

use bohr_bundle::{Input, LinkLine, OutputKind, is_system};
use std::path::Path;

/// The name of a shared library: the one that it was linked under, or else that of its
/// file. `None` of a program.
#[must_use]
pub fn name(link: &LinkLine) -> Option<String> {
    let own = || {
        let file = Path::new(&link.path).file_name()?;
        Some(file.to_string_lossy().into_owned())
    };
    match link.output {
        OutputKind::SharedLibrary => link.options.soname.clone().or_else(own),
        OutputKind::Executable | OutputKind::PositionIndependent => None,
    }
}

/// Whether code takes part that is neither in the bundle nor the system's: whoever loads
/// a library, or a library that a program is linked with.
#[must_use]
pub fn meets_foreign_code(link: &LinkLine) -> bool {
    let is_foreign = |input: &Input| match input {
        Input::SharedLibrary { path, needed, .. } => *needed && !is_system(Path::new(path)),
        Input::Part(_) | Input::Archive { .. } => false,
    };
    link.output == OutputKind::SharedLibrary || link.inputs.iter().any(is_foreign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked_with(path: &str, needed: bool) -> LinkLine {
        LinkLine {
            inputs: vec![Input::SharedLibrary {
                path: path.into(),
                soname: None,
                needed,
            }],
            ..LinkLine::default()
        }
    }

    #[test]
    fn libraries_have_the_name_of_their_link_or_of_their_file() {
        let mut link = LinkLine {
            path: "/build/libone.so.1.2".into(),
            ..LinkLine::default()
        };
        assert_eq!(name(&link), None);
        link.output = OutputKind::SharedLibrary;
        assert_eq!(name(&link).as_deref(), Some("libone.so.1.2"));
        link.options.soname = Some("libone.so.1".into());
        assert_eq!(name(&link).as_deref(), Some("libone.so.1"));
    }

    #[test]
    fn the_system_s_libraries_are_no_foreign_code() {
        let system = "/usr/lib/x86_64-linux-gnu/libm.so.6";
        assert!(!meets_foreign_code(&linked_with(system, true)));
        assert!(!meets_foreign_code(&linked_with("/build/libone.so", false)));
        assert!(meets_foreign_code(&linked_with("/build/libone.so", true)));
        let library = LinkLine {
            output: OutputKind::SharedLibrary,
            ..LinkLine::default()
        };
        assert!(meets_foreign_code(&library));
    }
}
