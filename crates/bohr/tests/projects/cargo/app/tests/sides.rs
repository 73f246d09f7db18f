//! An integration test, built as a program of its own.

#[test]
fn rectangles_have_four() {
    assert_eq!(shape::sides(), 4);
}
