//! What a recorded program says on standard error: passed on while it runs, its
//! end kept.

use crate::server::Voice;
use std::io::{Read, Write};
use std::process::ChildStderr;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// So much of the end is kept.
const KEPT: usize = 4096;

/// Processes that the program has left behind may keep the pipe open.
const PATIENCE: Duration = Duration::from_millis(100);

/// See the module.
pub struct Errors(Receiver<Vec<u8>>);

impl Errors {
    /// Begins to listen.
    pub fn of(mut pipe: ChildStderr, voice: Voice) -> Errors {
        let (send, receive) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; KEPT];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                if voice != Voice::Muted {
                    // Nobody may be listening to bohr, either.
                    let _ = std::io::stderr().write_all(&buffer[..count]);
                }
                if send.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Errors(receive)
    }

    /// The end of what was said, once the program is gone.
    pub fn said(self) -> String {
        let mut said = Vec::new();
        while let Ok(more) = self.0.recv_timeout(PATIENCE) {
            said.extend(more);
            said.drain(..said.len().saturating_sub(KEPT));
        }
        String::from_utf8_lossy(&said).into_owned()
    }
}
