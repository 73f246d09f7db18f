//! Keeps the cache from growing without bound.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Bytes of profiles to keep; `BOHR_CACHE_LIMIT` sets another number.
const LIMIT: u64 = 8 << 30;

/// Notes that a profile was used.
pub(super) fn touch(directory: &Path) {
    // A read-only cache works, it only forgets what was used.
    let _ = fs::write(directory.join("used"), "");
}

/// What a process that was killed has left half-made goes after a day.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes the profiles that were not used for longest until the rest fits.
/// The one just made stays.
pub(super) fn prune(profiles: &Path, newest: &Path) {
    let limit = env::var("BOHR_CACHE_LIMIT")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(LIMIT);
    for path in superfluous(entries(profiles, newest), limit) {
        // A profile in use by another process keeps its open files.
        let _ = fs::remove_dir_all(path);
    }
    for path in abandoned(profiles, SystemTime::now()) {
        let _ = fs::remove_dir_all(path);
    }
}

fn abandoned(profiles: &Path, now: SystemTime) -> Vec<PathBuf> {
    let directories = fs::read_dir(profiles).into_iter().flatten().flatten();
    directories
        .map(|entry| entry.path())
        .filter(|path| {
            let age = now.duration_since(last_use(path)).unwrap_or_default();
            is_hidden(path) && age > ABANDONED
        })
        .collect()
}

struct Entry {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

fn entries(profiles: &Path, newest: &Path) -> Vec<Entry> {
    let directories = fs::read_dir(profiles).into_iter().flatten().flatten();
    directories
        .map(|entry| entry.path())
        // Half-made ones belong to whoever makes them.
        .filter(|path| path != newest && !is_hidden(path))
        .map(|path| Entry {
            size: size_of_files(&path),
            used: last_use(&path),
            path,
        })
        .collect()
}

/// What to remove so that the rest is within the limit, oldest first.
fn superfluous(mut entries: Vec<Entry>, limit: u64) -> Vec<PathBuf> {
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.used));
    let mut total = 0;
    entries
        .into_iter()
        .filter_map(|entry| {
            total += entry.size;
            (total > limit).then_some(entry.path)
        })
        .collect()
}

fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_none_or(|name| name.starts_with('.'))
}

fn size_of_files(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files
        .filter_map(|file| file.metadata().ok())
        .map(|data| data.len())
        .sum()
}

fn last_use(directory: &Path) -> SystemTime {
    let used = directory.join("used");
    let data = used.metadata().or_else(|_| directory.metadata());
    data.and_then(|data| data.modified())
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, size: u64, age: u64) -> Entry {
        Entry {
            path: name.into(),
            size,
            used: SystemTime::UNIX_EPOCH + Duration::from_secs(1000 - age),
        }
    }

    #[test]
    fn the_longest_unused_go_first() {
        let entries = || {
            vec![
                entry("old", 5, 9),
                entry("new", 5, 1),
                entry("middle", 5, 5),
            ]
        };
        let none: [&str; 0] = [];
        assert_eq!(superfluous(entries(), 15), none.map(PathBuf::from));
        assert_eq!(superfluous(entries(), 14), ["old"].map(PathBuf::from));
        assert_eq!(
            superfluous(entries(), 5),
            ["middle", "old"].map(PathBuf::from)
        );
    }

    #[test]
    fn half_made_profiles_and_the_newest_are_not_counted() {
        let root = tempfile::tempdir().unwrap();
        for name in [".new-1", "one", "two"] {
            fs::create_dir(root.path().join(name)).unwrap();
            fs::write(root.path().join(name).join("program"), "12345").unwrap();
        }
        let found = entries(root.path(), &root.path().join("two"));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].size, found[0].path.ends_with("one")), (5, true));
    }

    #[test]
    fn what_a_killed_process_left_goes_after_a_day() {
        let root = tempfile::tempdir().unwrap();
        for name in [".new-1", "one"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        let at = |hours: u64| SystemTime::now() + Duration::from_secs(hours * 60 * 60);
        assert_eq!(abandoned(root.path(), at(1)), Vec::<PathBuf>::new());
        assert_eq!(abandoned(root.path(), at(25)), [root.path().join(".new-1")]);
    }
}
