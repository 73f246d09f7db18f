//! A page that is open: what a person can do with it, and what can be seen.

use crate::base64::decoded;
use crate::error::BrowserError;
use crate::pipe::Pipe;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a page may take to become ready.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the browser says of itself that is a complaint about the page.
const COMPLAINTS: [&str; 3] = [
    "Runtime.exceptionThrown",
    "Log.entryAdded",
    "Page.javascriptDialogOpening",
];

/// See the module. It is closed with the value that stands for it.
pub struct Tab<'b> {
    pipe: &'b mut Pipe,
    session: String,
}

impl<'b> Tab<'b> {
    pub(crate) fn open(
        pipe: &'b mut Pipe,
        session: String,
        file: &Path,
    ) -> Result<Tab<'b>, BrowserError> {
        pipe.unasked.clear();
        let mut tab = Tab { pipe, session };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.ask(&format!("{domain}.enable"), json!({}))?;
        }
        let offline = json!({
            "offline": true, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0,
        });
        tab.ask("Network.emulateNetworkConditions", offline)?;
        let address = format!("file://{}", file.canonicalize()?.display());
        tab.ask("Page.navigate", json!({ "url": address }))?;
        tab.wait_for("document.documentElement.dataset.ready !== undefined")?;
        Ok(tab)
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, BrowserError> {
        self.pipe.ask(Some(&self.session), method, parameters)
    }

    /// Waits until an expression is true.
    ///
    /// # Errors
    /// If it never is; then what the page complained about is the answer.
    pub fn wait_for(&mut self, expression: &str) -> Result<(), BrowserError> {
        let until = Instant::now() + PATIENCE;
        let thrown = |event: &Value| event["method"] == COMPLAINTS[0];
        loop {
            match self.evaluate(expression) {
                Ok(Value::Bool(true)) => return Ok(()),
                // While one page gives way to another there is nobody to answer.
                Ok(_) | Err(BrowserError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
            let threw = self.pipe.unasked.iter().any(thrown);
            if Instant::now() > until || threw {
                return Err(BrowserError::Refused {
                    asked: expression.to_string(),
                    answer: json!(self.complaints()),
                });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The value of an expression in the page.
    ///
    /// # Errors
    /// If it has none.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value, BrowserError> {
        let parameters = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        let mut answer = self.ask("Runtime.evaluate", parameters)?;
        match answer["exceptionDetails"].is_object() {
            true => Err(BrowserError::Refused {
                asked: expression.to_string(),
                answer: answer["exceptionDetails"].take(),
            }),
            false => Ok(answer["result"]["value"].take()),
        }
    }

    /// The text of the first element that a selector finds.
    ///
    /// # Errors
    /// If there is none.
    pub fn text(&mut self, selector: &str) -> Result<String, BrowserError> {
        let found = self.evaluate(&format!(
            "document.querySelector({})?.innerText",
            json!(selector)
        ))?;
        let text = found.as_str().map(str::to_string);
        text.ok_or_else(|| BrowserError::Missing(selector.to_string()))
    }

    /// Clicks on an element, at these shares of its width and height, as a mouse
    /// would.
    ///
    /// # Errors
    /// If there is no such element.
    pub fn click(&mut self, selector: &str, across: f64, down: f64) -> Result<(), BrowserError> {
        let (x, y) = self.point(selector, across, down)?;
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let (button, count) = if kind == "mouseMoved" {
                ("none", 0)
            } else {
                ("left", 1)
            };
            self.ask(
                "Input.dispatchMouseEvent",
                json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": count }),
            )?;
        }
        Ok(())
    }

    /// Turns the wheel over an element.
    ///
    /// # Errors
    /// If there is no such element.
    pub fn wheel(&mut self, selector: &str, across: f64, turn: f64) -> Result<(), BrowserError> {
        let (x, y) = self.point(selector, across, 0.5)?;
        let parameters = json!({
            "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": turn,
        });
        self.ask("Input.dispatchMouseEvent", parameters)?;
        Ok(())
    }

    /// Where an element is once it is in sight.
    fn point(
        &mut self,
        selector: &str,
        across: f64,
        down: f64,
    ) -> Result<(f64, f64), BrowserError> {
        let place = self.evaluate(&format!(
            "(element => {{ if (!element) return null; element.scrollIntoView({{ block: 'center' }});
             const box = element.getBoundingClientRect();
             return [box.x + box.width * {across}, box.y + box.height * {down}]; }})
             (document.querySelector({}))",
            json!(selector)
        ))?;
        let part = |number: usize| place[number].as_f64();
        let point = part(0).zip(part(1));
        point.ok_or_else(|| BrowserError::Missing(selector.to_string()))
    }

    /// Presses a key, as the page calls it.
    ///
    /// # Errors
    /// If the browser is not there.
    pub fn press(&mut self, key: &str) -> Result<(), BrowserError> {
        let text = if key.chars().count() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            self.ask(
                "Input.dispatchKeyEvent",
                json!({ "type": kind, "key": key, "text": text }),
            )?;
        }
        Ok(())
    }

    /// Writes a text where the page expects one.
    ///
    /// # Errors
    /// If the browser is not there.
    pub fn write(&mut self, text: &str) -> Result<(), BrowserError> {
        self.ask("Input.insertText", json!({ "text": text }))?;
        Ok(())
    }

    /// Has the page believe that its reader likes it dark, or light.
    ///
    /// # Errors
    /// If the browser is not there.
    pub fn prefer(&mut self, scheme: &str) -> Result<(), BrowserError> {
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.ask("Emulation.setEmulatedMedia", json!({ "features": feature }))?;
        Ok(())
    }

    /// What can be seen, as a PNG.
    ///
    /// # Errors
    /// If the browser cannot tell.
    pub fn screenshot(&mut self) -> Result<Vec<u8>, BrowserError> {
        let shot = self.ask("Page.captureScreenshot", json!({ "format": "png" }))?;
        let bytes = shot["data"].as_str().and_then(decoded);
        bytes.ok_or_else(|| BrowserError::Missing("screenshot".to_string()))
    }

    /// What went wrong in the page since the last question: exceptions, dialogs,
    /// breaches of its policy, files that it could not fetch.
    pub fn complaints(&mut self) -> Vec<Value> {
        let unasked = std::mem::take(&mut self.pipe.unasked);
        let complains = |event: &Value| COMPLAINTS.iter().any(|name| event["method"] == *name);
        unasked.into_iter().filter(complains).collect()
    }
}

impl Drop for Tab<'_> {
    fn drop(&mut self) {
        let _ = self.ask("Page.close", json!({}));
    }
}
