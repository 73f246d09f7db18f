//! Files that appear whole or not at all, whenever bohr is killed.

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Puts `bytes` at `path`, in place of what was there.
///
/// The file has no name until it is complete, so that a kill leaves nothing
/// behind; where the file system cannot do that, it has a temporary one.
///
/// What is no file, such as a device or a pipe, is written to as it is; of a link its
/// target is meant.
///
/// # Errors
/// As the file system has them.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let target = std::fs::canonicalize(path);
    let path = target.as_deref().unwrap_or(path);
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return std::fs::write(path, bytes);
    }
    let folder = folder_of(path);
    match nameless(&folder) {
        Ok(mut file) => {
            file.write_all(bytes)?;
            file.sync_all()?;
            give_name(&file, path)
        }
        Err(_) => write_renamed(&folder, path, bytes),
    }
}

/// Whether a file can come to be at `path`, for whoever would write it only after
/// long work. What is there stays as it is.
///
/// # Errors
/// As the file system would have them then.
pub fn check_place(path: &Path) -> std::io::Result<()> {
    let target = std::fs::canonicalize(path);
    let path = target.as_deref().unwrap_or(path);
    match std::fs::metadata(path) {
        Ok(there) if there.is_dir() => return Err(std::io::ErrorKind::IsADirectory.into()),
        Ok(there) if !there.is_file() => return Ok(()),
        _ => {}
    }
    let folder = folder_of(path);
    if !std::fs::metadata(&folder)?.is_dir() {
        return Err(std::io::ErrorKind::NotADirectory.into());
    }
    Ok(rustix::fs::access(&folder, Access::WRITE_OK)?)
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

fn nameless(folder: &Path) -> rustix::io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::from_raw_mode(0o644)).map(File::from)
}

/// A link cannot replace a file, so an old one is replaced by a rename. Between
/// the two calls lies nothing but their return.
fn give_name(file: &File, path: &Path) -> std::io::Result<()> {
    let source = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link =
        |target: &Path| rustix::fs::linkat(CWD, &source, CWD, target, AtFlags::SYMLINK_FOLLOW);
    match link(path) {
        Err(rustix::io::Errno::EXIST) => {}
        done => return Ok(done?),
    }
    let aside = path.with_extension(format!("{}.new", std::process::id()));
    link(&aside)?;
    std::fs::rename(&aside, path).inspect_err(|_| drop(std::fs::remove_file(&aside)))
}

fn write_renamed(folder: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(".bohr-")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_content_is_replaced_and_nothing_is_left_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bohr");
        for content in [&b"one"[..], b"another"] {
            write_whole(&path, content).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), content);
        }
        write_renamed(folder.path(), &path, b"third").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"third");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_file_stays_what_it_is() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read(pipe).unwrap()
        });
        write_whole(&pipe, b"bytes").unwrap();
        assert_eq!(reader.join().unwrap(), b"bytes");
        assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
        let file = folder.path().join("file");
        std::fs::write(&file, b"old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_whole(&link, b"new").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = write_whole(&folder.path().join("no/a.bohr"), b"x").unwrap_err();
        assert_eq!(refusal.kind(), std::io::ErrorKind::NotFound);
    }

    #[test]
    fn places_are_checked_without_a_trace() {
        use std::io::ErrorKind;
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| check_place(&folder.path().join(name)).map_err(|it| it.kind());
        assert_eq!(place("a.bohr"), Ok(()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(folder.path().join("file"), b"old").unwrap();
        assert_eq!(place("file"), Ok(()));
        assert_eq!(place("no/a.bohr"), Err(ErrorKind::NotFound));
        assert_eq!(place("file/a.bohr"), Err(ErrorKind::NotADirectory));
        assert_eq!(place("."), Err(ErrorKind::IsADirectory));
    }
}
