//! Where the system keeps its libraries: what lies there was built by nobody who builds
//! with bohr, and calls nothing of a program behind its back.

use std::path::Path;

const FOLDERS: [&str; 6] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
];

/// Whether a file lies where the system's libraries do.
///
/// ```
/// use bohr_bundle::is_system;
/// use std::path::Path;
///
/// assert!(is_system(Path::new("/usr/lib/x86_64-linux-gnu/libm.so.6")));
/// assert!(!is_system(Path::new("/usr/local/lib/libm.so.6")));
/// assert!(!is_system(Path::new("/usr/library/libm.so.6")));
/// ```
#[must_use]
pub fn is_system(path: &Path) -> bool {
    FOLDERS.iter().any(|folder| path.starts_with(folder))
}
