//! Whatever bytes a file has, it is an image or refused.

use super::*;
use crate::bug_file::{ControlMode, Invocation, ProgramIdentity};
use bohr_event::control::{Mapped, OpenFile, Policy};
use proptest::prelude::*;

fn sample() -> Origin {
    let mapping = |start: u64, pages: u64, file: Option<&str>| Mapped {
        start,
        end: start + pages * PAGE,
        access: 3,
        file: file.map(|path| (path.to_string(), 0)),
    };
    Origin {
        writer: "0.1.0".into(),
        program: ProgramIdentity {
            path: b"/bin/program".to_vec(),
            hash: [7; 32],
            size: 99,
            mode: ControlMode::Calls,
            libraries: Vec::new(),
        },
        invocation: Invocation::default(),
        policy: Policy::default(),
        plan: vec![1, 2, 3],
        strategy: "random".into(),
        seed: 5,
        events: 1000,
        milliseconds: 20,
        mapped: vec![("/bin/program".into(), [8; 32])],
        opened: vec![("/etc/hosts".into(), 10, 11)],
        machine: Machine {
            kernel: [1; 32],
            processor: [2; 32],
        },
        script: Script {
            mappings: vec![
                mapping(0x20_0000, 4, Some("/bin/program")),
                mapping(0x20_4000, 2, None),
                mapping(0x7fff_0000_0000, 3, None),
            ],
            pages: vec![
                Stretch {
                    start: 0x20_2000,
                    length: 3 * PAGE,
                },
                Stretch {
                    start: 0x7fff_0000_1000,
                    length: PAGE,
                },
            ],
            files: vec![OpenFile {
                descriptor: 3,
                path: "/etc/hosts".into(),
                offset: 4,
                flags: 0,
            }],
            folder: "/".into(),
            heap_end: 0,
            kernel_code: 0x7fff_f000_0000,
            control_block: 0x7fff_0000_0000,
        },
    }
}

fn content() -> Vec<u8> {
    (0..4 * PAGE).map(|at| (at / 7) as u8).collect()
}

/// The file of an image, and the folder that it is in.
fn written() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let mut writing = Writing::begin(&path).unwrap();
    writing.pages().write_all(&content()).unwrap();
    let length = writing.end(&sample()).unwrap();
    assert!(path.metadata().unwrap().len() >= length);
    (folder, path)
}

/// A file with this origin under a right checksum.
fn packed(plain: &[u8], pages: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(zstd::encode_all(pages, 1).unwrap());
    let origin = zstd::encode_all(plain, 1).unwrap();
    bytes.extend(&origin);
    bytes.extend((origin.len() as u64).to_le_bytes());
    let hash = blake3::hash(&bytes);
    bytes.extend(hash.as_bytes());
    bytes.extend(END);
    bytes
}

fn opened(bytes: &[u8]) -> Result<Image, ImageError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    std::fs::write(&path, bytes).unwrap();
    Image::open(&path)
}

#[test]
fn an_image_survives_its_file() {
    let (_folder, path) = written();
    let image = Image::open(&path).unwrap();
    assert_eq!(image.origin, sample());
    let mut unpacked = std::fs::read(image.path()).unwrap();
    let script = postcard::to_allocvec(&sample().script).unwrap();
    let pages = unpacked.split_off(Script::first_page(script.len() as u64) as usize);
    assert_eq!(unpacked[..8], (script.len() as u64).to_le_bytes());
    assert_eq!(unpacked[8..8 + script.len()], script);
    assert!(pages == content());
}

#[test]
fn every_truncation_and_every_changed_byte_is_noticed() {
    let (_folder, path) = written();
    let whole = std::fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(7) {
        assert!(opened(&whole[..length]).is_err(), "{length}");
    }
    for position in (0..whole.len()).step_by(5) {
        let mut changed = whole.clone();
        changed[position] ^= 0x41;
        assert!(opened(&changed).is_err(), "byte {position}");
    }
    assert!(opened(&[&whole[..], &[0]].concat()).is_err());
}

#[test]
fn other_versions_are_named() {
    let (_folder, path) = written();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] = 77;
    let refusal = opened(&bytes).unwrap_err();
    assert!(matches!(
        refusal,
        ImageError::OtherVersion { found: 77, .. }
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Damage that checksums do not see.
    #[test]
    fn any_damaged_image_is_refused_or_read(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6),
        pages in 0usize..6,
    ) {
        let mut plain = postcard::to_allocvec(&sample()).unwrap();
        for (position, value, change) in changes {
            let at = position.index(plain.len().max(1));
            match change {
                0 if at < plain.len() => plain[at] = value,
                1 if at < plain.len() => drop(plain.remove(at)),
                2 => plain.insert(at.min(plain.len()), value),
                _ => plain.truncate(at),
            }
        }
        let pages = vec![5; pages * PAGE as usize];
        if let Ok(image) = opened(&packed(&plain, &pages)) {
            let memory: u64 = image.origin.script.pages.iter().map(|one| one.length).sum();
            prop_assert_eq!(memory, pages.len() as u64);
            prop_assert!(examine(&image.origin.script).is_ok());
        }
    }

    #[test]
    fn any_bytes_are_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..300), headed: bool) {
        if headed {
            bytes.splice(0..0, [&MAGIC[..], &VERSION.to_le_bytes()].concat());
        }
        prop_assert!(opened(&bytes).is_err());
    }
}
