//! `bohr explain --html` on a real failure, in a real browser.

use crate::controlled;

use bohr_browser::Browser;
use controlled::Folder;

/// Bytes that the page of a small bug may have.
const MOST_BYTES: u64 = 1 << 20;

#[test]
fn the_page_of_a_lost_update_shows_both_orders_and_the_source() {
    let folder = Folder::empty();
    folder.build("lost_update", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let words = ["explain", "program.bohr", "--html", "page.html"];
    folder.bohr(&words).expect(0);
    let file = folder.path("page.html");
    assert!(std::fs::metadata(&file).unwrap().len() < MOST_BYTES);

    let mut browser = Browser::start(1400, 1000).unwrap();
    let mut tab = browser.open(&file).unwrap();
    let verdict = tab.text("#verdict").unwrap();
    assert!(verdict.contains("writes balance"), "{verdict}");
    // The update that is lost: read, written by another thread, written.
    let deeds =
        "[...document.querySelectorAll('COLUMN .moment .deed')].map(deed => deed.innerText)";
    let deeds_of = |column: &str| deeds.replace("COLUMN", column);
    let failing = tab.evaluate(&deeds_of("#fails")).unwrap();
    let passing = tab.evaluate(&deeds_of("#passes")).unwrap();
    assert_eq!(failing.as_array().map(Vec::len), Some(3), "{failing}");
    assert_eq!(passing.as_array().map(Vec::len), Some(3), "{passing}");
    assert_ne!(failing, passing, "values tell the runs apart");
    let source = tab.text("#source .current").unwrap();
    assert!(source.contains("int seen"), "{source}");
    tab.press("n").unwrap();
    let source = tab.text("#source .current").unwrap();
    assert!(source.contains("seen + 1"), "{source}");
    let value = tab.text(".variable.touched").unwrap();
    assert!(value.starts_with("balance"), "{value}");
    assert!(tab.complaints().is_empty());
}

#[test]
fn a_program_without_debug_information_has_a_page_too() {
    let folder = Folder::with("lost_update", &["-g0"]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let words = ["explain", "program.bohr", "--html", "page.html"];
    folder.bohr(&words).expect(0);
    let mut browser = Browser::start(1400, 1000).unwrap();
    let mut tab = browser.open(&folder.path("page.html")).unwrap();
    tab.press("ArrowLeft").unwrap();
    assert!(tab.text("#source .missing").is_ok());
    assert!(tab.complaints().is_empty());
}
