//! Pages in a real browser: what a reader does with them, and what a hostile
//! program cannot do to them.

mod toy;

use bohr_browser::{Browser, Tab};
use bohr_event::control::Step;
use bohr_event::{EventKind, ThreadPath};
use bohr_page::Page;
use serde_json::json;
use std::path::PathBuf;
use toy::{Words, failing, small_page, step, story, threads, told};

/// A page in a folder that goes away with it.
struct Written {
    file: PathBuf,
    _folder: tempfile::TempDir,
}

fn written(page: &str) -> Written {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    std::fs::write(&file, page).unwrap();
    Written {
        file,
        _folder: folder,
    }
}

fn browser() -> Browser {
    Browser::start(1400, 1000).unwrap()
}

/// What the page says about the event that it is at.
fn now(tab: &mut Tab<'_>) -> String {
    let text = tab
        .evaluate("document.getElementById('now').textContent")
        .unwrap();
    text.as_str().unwrap().to_string()
}

/// Whether something is drawn in the lanes of a timeline.
fn inked(tab: &mut Tab<'_>, timeline: &str) -> bool {
    let found = tab.evaluate(&format!(
        "(canvas => {{ const data = canvas.getContext('2d')
            .getImageData(80, 20, canvas.width - 100, canvas.height - 20).data;
          const colours = new Set();
          for (let at = 0; at < data.length; at += 4)
            colours.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
          return colours.size > 4; }})(document.querySelector('{timeline} .lanes'))"
    ));
    found.unwrap() == true
}

#[test]
fn a_reader_steps_filters_and_compares() {
    let page = written(&small_page("x", true));
    let mut browser = browser();
    let mut tab = browser.open(&page.file).unwrap();
    assert!(
        tab.text("#verdict")
            .unwrap()
            .contains("thread 0:2 writes x8")
    );
    assert!(inked(&mut tab, "#timeline-0") && inked(&mut tab, "#timeline-1"));

    // The moments that matter, in both orders.
    let numbers = |tab: &mut Tab<'_>, column: &str| {
        tab.evaluate(&format!(
            "[...document.querySelectorAll('{column} .badge')].map(badge => badge.textContent)"
        ))
        .unwrap()
    };
    assert_eq!(numbers(&mut tab, "#fails"), json!(["1", "2", "3"]));
    assert_eq!(numbers(&mut tab, "#passes"), json!(["1", "3", "2"]));

    // It begins where the story does; keys step.
    assert_eq!(now(&mut tab), "Event 6: thread 0:1 reads x8 = 0 at x.c:10");
    assert!(
        tab.text("#source .current")
            .unwrap()
            .contains("int x10 = 10;")
    );
    assert!(tab.text(".variable.touched").unwrap().contains("x8"));
    tab.press("n").unwrap();
    assert_eq!(now(&mut tab), "Event 8: thread 0:2 writes x8 = 1 at x.c:11");
    assert_eq!(tab.text(".variable .value").unwrap(), "1");
    tab.press("ArrowLeft").unwrap();
    assert_eq!(now(&mut tab), "Event 7: thread 0:2 reads x8 = 0 at x.c:10");
    assert_eq!(tab.text(".variable .value").unwrap(), "0");

    // A click in a lane selects an event of its thread.
    tab.click("#timeline-0 .lanes", 0.5, 0.9).unwrap();
    assert!(now(&mut tab).contains("thread 0:2"), "{}", now(&mut tab));
    tab.click("#passes .moment", 0.5, 0.5).unwrap();
    assert_eq!(now(&mut tab), "Event 6: thread 0:1 reads x8 = 0 at x.c:10");
    tab.press("]").unwrap();
    assert_eq!(now(&mut tab), "Event 7: thread 0:1 writes x8 = 1 at x.c:11");

    // Filters.
    tab.press("/").unwrap();
    tab.write("x8").unwrap();
    assert!(tab.text("#steps-title").unwrap().ends_with("5 shown"));
    tab.press("Escape").unwrap();
    tab.click("#threads .chip:nth-child(2)", 0.5, 0.5).unwrap();
    assert!(tab.text("#steps-title").unwrap().ends_with("8 shown"));
    assert_eq!(tab.complaints(), Vec::<serde_json::Value>::new());
}

#[test]
fn the_wheel_zooms_and_the_theme_follows_its_reader() {
    let page = written(&small_page("x", true));
    let mut browser = browser();
    let mut tab = browser.open(&page.file).unwrap();
    let end = "Number(document.querySelector('#timeline-0 .lanes').dataset.end)";
    assert_eq!(tab.evaluate(end).unwrap(), 12);
    tab.wheel("#timeline-0 .lanes", 0.1, -400.0).unwrap();
    tab.wait_for(&format!("{end} < 12")).unwrap();
    tab.press("f").unwrap();
    tab.wait_for(&format!("{end} === 12")).unwrap();

    let paper = "getComputedStyle(document.body).backgroundColor";
    let mut seen = Vec::new();
    for scheme in ["light", "dark"] {
        tab.prefer(scheme).unwrap();
        let shot = tab.screenshot().unwrap();
        assert!(shot.starts_with(b"\x89PNG"));
        seen.push((tab.evaluate(paper).unwrap(), shot));
    }
    assert_ne!(seen[0], seen[1]);
    tab.press("t").unwrap();
    assert_eq!(
        tab.evaluate(paper).unwrap(),
        seen[0].0,
        "dark by preference, light by choice"
    );
    assert_eq!(tab.complaints(), Vec::<serde_json::Value>::new());
}

#[test]
fn a_hostile_program_is_only_text() {
    let words = [
        "</script><script>window.hacked = 1</script>",
        "<img src=x onerror='window.hacked = 1'>",
        "\"><svg onload=window.hacked=1>",
        "<!--<script>",
        "\\u003cscript>\u{2028}`${window.hacked = 1}`",
    ];
    let mut browser = browser();
    for word in words {
        let page = written(&small_page(word, true));
        let mut tab = browser.open(&page.file).unwrap();
        for key in ["n", "n", "ArrowRight", "]", "Tab", "?"] {
            tab.press(key).unwrap();
        }
        tab.click("#timeline-0 .lanes", 0.5, 0.5).unwrap();
        assert!(now(&mut tab).contains(word), "{}", now(&mut tab));
        for place in ["#description", "#verdict", "#kind"] {
            let text = tab.evaluate(&format!("document.querySelector('{place}').textContent"));
            let text = text.unwrap();
            assert!(text.as_str().unwrap().contains(word), "{place}: {text}");
        }
        let guests = "document.querySelectorAll('img, svg, iframe, [onload], [onerror]').length";
        assert_eq!(tab.evaluate(guests).unwrap(), 0, "{word}");
        assert_eq!(
            tab.evaluate("typeof window.hacked").unwrap(),
            "undefined",
            "{word}"
        );
        assert_eq!(tab.complaints(), Vec::<serde_json::Value>::new());
    }
}

/// Were the escapes ever wrong, the policy would still hold.
#[test]
fn what_was_not_there_when_the_page_was_written_does_not_act() {
    let intruder = "<body><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>
        <a id=trap href='javascript:window.hacked = 1'>here</a>";
    let page = small_page("x", true).replacen("<body>", intruder, 1);
    let page = written(&page);
    let mut browser = browser();
    let mut tab = browser.open(&page.file).unwrap();
    tab.click("#trap", 0.5, 0.5).unwrap();
    assert_eq!(tab.evaluate("typeof window.hacked").unwrap(), "undefined");
    let complaints = json!(tab.complaints()).to_string();
    for breach in ["inline script", "the image", "inline event handler"] {
        assert!(complaints.contains(breach), "{breach}: {complaints}");
    }
    let assignment =
        "try { document.body.innerHTML = '<b>'; 'taken' } catch (error) { error.name }";
    assert_eq!(tab.evaluate(assignment).unwrap(), "TypeError");
}

#[test]
fn what_is_missing_is_told() {
    let mut browser = browser();
    let page = written(&small_page("x", false));
    let mut tab = browser.open(&page.file).unwrap();
    assert!(tab.text("#source").unwrap().contains("x.c was not found"));
    drop(tab);
    for (word, told) in [("newer", true), ("x", false)] {
        let page = written(&small_page(word, true));
        let mut tab = browser.open(&page.file).unwrap();
        let title = tab.text("#source-title").unwrap();
        assert_eq!(
            title.contains("changed since the program was built"),
            told,
            "{title}"
        );
    }

    let threads = [ThreadPath::MAIN];
    let empty = Page {
        program: "program",
        story: &story(Vec::new(), "x"),
        runs: vec![failing(&threads, &[], &[], "x")],
    };
    let mut words = Words {
        word: "x".to_string(),
        has_sources: true,
    };
    let page = written(&empty.as_html(&mut words));
    let mut tab = browser.open(&page.file).unwrap();
    for key in ["n", "ArrowRight", "]", "f", "+", "Tab"] {
        tab.press(key).unwrap();
    }
    assert_eq!(tab.complaints(), Vec::<serde_json::Value>::new());
}

#[test]
fn a_million_events_stay_usable() {
    const EVENTS: u64 = 1_000_000;
    let access = |event: u64| -> Step {
        let mixed = (event + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let kind = if mixed.is_multiple_of(3) {
            EventKind::Write
        } else {
            EventKind::Read
        };
        step(
            (event / 700 % 8) as u32,
            kind,
            8 * (mixed % 500),
            10 + u64::from(kind == EventKind::Write),
        )
    };
    let steps: Vec<Step> = (0..EVENTS).map(access).collect();
    let values: Vec<Option<u64>> = (0..EVENTS).map(Some).collect();
    let threads = threads(7);
    let moments = vec![told("0:1", 40, steps[740].operation.kind, "x")];
    let page = Page {
        program: "program",
        story: &story(moments, "x"),
        runs: vec![failing(&threads, &steps, &values, "x")],
    };
    let mut words = Words {
        word: "x".to_string(),
        has_sources: true,
    };
    let page = written(&page.as_html(&mut words));
    let mut browser = browser();
    let mut tab = browser.open(&page.file).unwrap();
    assert!(
        now(&mut tab).starts_with("Event 740: thread 0:1"),
        "{}",
        now(&mut tab)
    );

    let detailed = "document.querySelector('#timeline-0 .lanes').dataset.detailed";
    assert_eq!(tab.evaluate(detailed).unwrap(), "true");
    tab.press("f").unwrap();
    tab.wait_for(&format!("{detailed} === 'false'")).unwrap();
    assert!(inked(&mut tab, "#timeline-0"));
    tab.click("#timeline-0 .lanes", 0.5, 0.5).unwrap();
    let at = now(&mut tab);
    tab.press("ArrowRight").unwrap();
    assert_ne!(now(&mut tab), at);

    let last = &steps[EVENTS as usize - 1].operation;
    tab.press("/").unwrap();
    tab.write(&format!("x{}", last.object)).unwrap();
    let alike = steps
        .iter()
        .filter(|step| step.operation.object == last.object);
    let shown = alike.count();
    let title = tab.text("#steps-title").unwrap().replace(',', "");
    assert!(
        title.ends_with(&format!("{shown} shown")),
        "{title}: {shown}"
    );
    assert_eq!(tab.complaints(), Vec::<serde_json::Value>::new());
}
