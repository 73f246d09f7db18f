//! Questions and answers: JSON objects with a zero byte behind each.

use crate::error::BrowserError;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The longest that an answer may take, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// See the module.
pub struct Pipe {
    input: ChildStdin,
    answers: Receiver<Value>,
    next: u64,
    /// What was said without being asked, until somebody takes it.
    pub unasked: Vec<Value>,
}

impl Pipe {
    pub fn new(input: ChildStdin, output: ChildStdout) -> Pipe {
        let (sender, answers) = channel();
        // A thread of its own: reading from a pipe knows no time limit. It ends
        // with the browser.
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let Ok(message) = message else { break };
                let value = serde_json::from_slice(&message).unwrap_or_default();
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        Pipe {
            input,
            answers,
            next: 1,
            unasked: Vec::new(),
        }
    }

    /// Says something that needs no answer.
    pub fn tell(&mut self, method: &str) -> Result<(), BrowserError> {
        self.send(None, method, &json!({}))?;
        Ok(())
    }

    /// Asks, and waits for the answer.
    pub fn ask(
        &mut self,
        session: Option<&str>,
        method: &str,
        parameters: Value,
    ) -> Result<Value, BrowserError> {
        let number = self.send(session, method, &parameters)?;
        loop {
            let mut answer = self
                .answers
                .recv_timeout(PATIENCE)
                .map_err(|why| match why {
                    RecvTimeoutError::Timeout => BrowserError::Silent(method.to_string()),
                    RecvTimeoutError::Disconnected => BrowserError::Gone,
                })?;
            if answer["id"] != number {
                self.unasked.push(answer);
                continue;
            }
            if answer["error"].is_object() {
                return Err(BrowserError::Refused {
                    asked: format!("{method} {parameters}"),
                    answer: answer["error"].take(),
                });
            }
            return Ok(answer["result"].take());
        }
    }

    fn send(
        &mut self,
        session: Option<&str>,
        method: &str,
        parameters: &Value,
    ) -> Result<u64, BrowserError> {
        let number = self.next;
        self.next += 1;
        let mut message = json!({ "id": number, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input
            .write_all(&bytes)
            .map_err(|_| BrowserError::Gone)?;
        Ok(number)
    }
}
