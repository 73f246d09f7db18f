//! How large the page of a bug is, and how soon it answers in a real browser.

use crate::install;
use crate::museum::hunt;
use bohr_browser::Browser;
use bohr_museum::Variant;
use std::path::Path;
use std::process::Command;

/// The targets for a bug of about a thousand events.
const MOST_BYTES: u64 = 1 << 20;
const MOST_MILLISECONDS: u64 = 1000;

/// Seconds for a hunt.
const SECONDS: u32 = 20;

/// An exhibit with these arguments fails after about a thousand events.
const EXHIBIT: (&str, &[u64]) = ("account", &[4, 60]);

/// What a page says about itself.
const READY: &str = "Number(document.documentElement.dataset.ready)";
const EVENTS: &str = "JSON.parse(document.getElementById('data').textContent).runs[0].events";

/// Hunts, explains, opens.
pub fn measure(bohr: &Path) -> Result<(), String> {
    install::needed(&[("chromium", "/usr/bin/chromium")])?;
    let (name, arguments) = EXHIBIT;
    let exhibit = bohr_museum::named(name).map_err(|error| error.to_string())?;
    let hunted = hunt(&exhibit, Variant::Buggy, arguments, bohr, SECONDS);
    let (_, bug_file) = hunted.map_err(|error| error.to_string())?;
    let page = bug_file.with_extension("html");
    let explained = Command::new(bohr)
        .arg("explain")
        .arg(&bug_file)
        .arg("--html")
        .arg(&page)
        .output()
        .map_err(|error| error.to_string())?;
    if !explained.status.success() {
        return Err(String::from_utf8_lossy(&explained.stderr).into_owned());
    }
    let bytes = std::fs::metadata(&page).map_err(|error| error.to_string())?;
    let [ready, events] = opened(&page).map_err(|error| error.to_string())?;
    println!(
        "\nthe page of {name}: {events} events, {} KB (at most {} KB), answers after {ready} ms \
         (at most {MOST_MILLISECONDS} ms)\n",
        bytes.len() >> 10,
        MOST_BYTES >> 10
    );
    match bytes.len() <= MOST_BYTES && ready <= MOST_MILLISECONDS {
        true => Ok(()),
        false => Err(format!("the page of {name} misses its targets")),
    }
}

/// Milliseconds until the page answers, and its number of events.
fn opened(page: &Path) -> Result<[u64; 2], bohr_browser::BrowserError> {
    let mut browser = Browser::start(1400, 1000)?;
    let mut tab = browser.open(page)?;
    let mut numbers = [0; 2];
    for (number, expression) in numbers.iter_mut().zip([READY, EVENTS]) {
        *number = tab.evaluate(expression)?.as_u64().unwrap_or_default();
    }
    Ok(numbers)
}
