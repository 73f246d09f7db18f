//! A real browser without a window, for testing and measuring pages: Chromium,
//! spoken to by its DevTools protocol. For looking at what bohr writes, never part
//! of it.
//!
//! The browser has a home of its own in a temporary folder, no network, and ends
//! with the value that stands for it, however that comes to its end: its orders
//! come through a pipe, and it leaves when that is closed.

#![forbid(unsafe_code)]

mod base64;
mod error;
mod pipe;
mod tab;

pub use error::BrowserError;
pub use tab::Tab;

use pipe::Pipe;
use serde_json::json;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a browser may take to leave of its own accord.
const FAREWELL: Duration = Duration::from_secs(5);

/// Its orders come on descriptor 3 and its answers go to 4.
const START: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null";

/// See the module.
pub struct Browser {
    process: Child,
    pipe: Pipe,
    home: TempDir,
}

impl Browser {
    /// Starts one, with windows of this size.
    ///
    /// # Errors
    /// If there is no Chromium, or it does not start.
    pub fn start(width: u32, height: u32) -> Result<Browser, BrowserError> {
        let home = tempfile::tempdir()?;
        let folder = home.path().display();
        let mut process = Command::new("/bin/sh")
            .args(["-c", START, "chromium", "--headless=new", "--no-sandbox"])
            .args(["--remote-debugging-pipe", "--disable-gpu", "--no-first-run"])
            .args(["--disable-dev-shm-usage", "--disable-background-networking"])
            .args(["--hide-scrollbars", "--force-device-scale-factor=1"])
            .arg(format!("--user-data-dir={folder}/profile"))
            .arg(format!("--window-size={width},{height}"))
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(home.path().join("complaints"))?)
            .spawn()?;
        let ends = process.stdin.take().zip(process.stdout.take());
        let (input, output) = ends.ok_or(BrowserError::Gone)?;
        Ok(Browser {
            process,
            pipe: Pipe::new(input, output),
            home,
        })
    }

    /// Opens a file, offline, and waits until its root element says
    /// `data-ready`.
    ///
    /// # Errors
    /// If the browser is not there, or the page does not become ready.
    pub fn open(&mut self, file: &Path) -> Result<Tab<'_>, BrowserError> {
        let target = self
            .pipe
            .ask(None, "Target.createTarget", json!({ "url": "about:blank" }));
        let target = target.map_err(|error| self.reason(error))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.pipe.ask(None, "Target.attachToTarget", attach)?;
        let session = session["sessionId"].as_str().unwrap_or_default();
        Tab::open(&mut self.pipe, session.to_string(), file)
    }

    /// Why the browser is not there, in its own words.
    fn reason(&self, error: BrowserError) -> BrowserError {
        let words = std::fs::read_to_string(self.home.path().join("complaints"));
        let last = words.unwrap_or_default();
        match last.lines().last() {
            Some(line) => BrowserError::NotStarted(line.to_string()),
            None => error,
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.pipe.tell("Browser.close");
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until {
            if let Ok(Some(_)) = self.process.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
