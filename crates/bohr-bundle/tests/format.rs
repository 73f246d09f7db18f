//! The format keeps what it is given, and answers any other bytes with an error.

use bohr_bundle::{
    Bundle, BundleBuilder, BundleError, Content, FormatVersion, Input, Language, Level, LinkLine,
    NativeReason, Origin, OutputKind,
};
use proptest::prelude::*;

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        Just(Content::Bitcode),
        Just(Content::Native(NativeReason::Toolchain)),
        Just(Content::Native(NativeReason::NoBitcode)),
    ]
}

fn level() -> impl Strategy<Value = Level> {
    prop_oneof![
        Just(Level::None),
        Just(Level::Less),
        Just(Level::Default),
        Just(Level::Aggressive)
    ]
}

fn language() -> impl Strategy<Value = Option<Language>> {
    prop_oneof![
        Just(None),
        proptest::option::of(level()).prop_map(|level| Some(Language::Rust { level })),
        Just(Some(Language::Clang))
    ]
}

type PlainPart = (Content, String, Option<String>, Option<Language>, Vec<u8>);

fn part() -> impl Strategy<Value = PlainPart> {
    (
        content(),
        "[a-z/.]{0,12}",
        proptest::option::of("[a-z.]{1,8}"),
        language(),
        proptest::collection::vec(any::<u8>(), 0..300),
    )
}

fn build(parts: &[PlainPart]) -> Vec<u8> {
    let mut builder = BundleBuilder::new(LinkLine {
        output: OutputKind::PositionIndependent,
        path: "app".into(),
        ..LinkLine::default()
    });
    builder.add_tool("clang version 22.1");
    for (content, path, member, language, bytes) in parts {
        let origin = Origin {
            path: path.clone(),
            member: member.clone(),
        };
        let id = builder.add(*content, origin, *language, bytes);
        builder.link_mut().inputs.push(Input::Part(id));
    }
    builder.finish()
}

fn sample() -> Vec<u8> {
    build(&[
        (Content::Bitcode, "a.o".into(), None, None, vec![7; 400]),
        (
            Content::Native(NativeReason::Toolchain),
            "libc.a".into(),
            Some("x.o".into()),
            None,
            (0..255).collect(),
        ),
    ])
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(parts in proptest::collection::vec(part(), 0..6)) {
        let bytes = build(&parts);
        prop_assert_eq!(&bytes, &build(&parts));
        let bundle = Bundle::parse(&bytes).unwrap();
        prop_assert_eq!(bundle.parts().len(), parts.len());
        prop_assert_eq!(bundle.link().inputs.len(), parts.len());
        prop_assert_eq!(bundle.tools(), ["clang version 22.1"]);
        for ((id, found), (content, path, member, language, plain)) in
            bundle.numbered_parts().zip(&parts)
        {
            prop_assert_eq!(found.content, *content);
            prop_assert_eq!(&found.origin.path, path);
            prop_assert_eq!(&found.origin.member, member);
            prop_assert_eq!(found.language, *language);
            prop_assert_eq!(&bundle.contents(id).unwrap(), plain);
        }
    }

    #[test]
    fn any_bytes_get_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Bundle::parse(&bytes).is_err());
        prop_assert!(Bundle::in_program(&bytes).is_err());
    }

    #[test]
    fn bytes_behind_a_good_header_get_an_answer(
        body in proptest::collection::vec(any::<u8>(), 0..300),
        contents in 0u64..400,
    ) {
        let mut bytes = sample()[..64].to_vec();
        bytes[16..24].copy_from_slice(&(64 + body.len() as u64).to_le_bytes());
        bytes[24..32].copy_from_slice(&contents.to_le_bytes());
        bytes[32..64].copy_from_slice(blake3::hash(&body).as_bytes());
        bytes.extend_from_slice(&body);
        // A random body is never a table of contents.
        prop_assert!(Bundle::parse(&bytes).is_err());
    }
}

#[test]
fn every_changed_byte_is_noticed() {
    let bytes = sample();
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            assert!(Bundle::parse(&changed).is_err(), "byte {at} ^ {flip:#x}");
        }
    }
}

#[test]
fn every_cut_is_noticed() {
    let bytes = sample();
    for length in 0..bytes.len() {
        assert!(
            matches!(
                Bundle::parse(&bytes[..length]),
                Err(BundleError::Truncated { .. })
            ),
            "cut at {length}"
        );
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(matches!(
        Bundle::parse(&longer),
        Err(BundleError::Damaged(_))
    ));
}

#[test]
fn other_versions_are_refused_by_name() {
    let mut newer = sample();
    newer[8..12].copy_from_slice(&7u32.to_le_bytes());
    assert_eq!(
        Bundle::parse(&newer).unwrap_err(),
        BundleError::TooNew {
            found: FormatVersion(7)
        }
    );
    let mut older = sample();
    older[8..12].copy_from_slice(&0u32.to_le_bytes());
    assert_eq!(
        Bundle::parse(&older).unwrap_err(),
        BundleError::TooOld {
            found: FormatVersion(0)
        }
    );
}
