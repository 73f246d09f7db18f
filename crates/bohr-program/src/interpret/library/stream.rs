//! Output to descriptors and streams, unbuffered: nobody can tell the
//! difference from a buffer that is flushed in the end.

use crate::interpret::datum::Datum;
use crate::interpret::machine::Machine;
use crate::interpret::{Step, not_modelled};

/// Streams have no content; their addresses name their descriptors.
const STREAMS: [(&str, u64); 3] = [("stdin", 0), ("stdout", 1), ("stderr", 2)];

impl Machine<'_> {
    /// Fills in the variables `stdin`, `stdout` and `stderr`.
    pub(in crate::interpret) fn place_streams(&mut self) -> Step<()> {
        for (name, descriptor) in STREAMS {
            let stream = self.stream(descriptor)?;
            let program = self.program;
            for (number, global) in &program.globals {
                if &program.texts[global.name] == name && global.initialiser.is_none() {
                    self.memory.write_word(self.globals[number], stream)?;
                }
            }
        }
        Ok(())
    }

    fn stream(&mut self, descriptor: u64) -> Step<u64> {
        let streams = self.library_memory("streams", 3 * 16)?;
        Ok(streams + descriptor * 16)
    }

    fn descriptor(&mut self, stream: u64) -> Step<u64> {
        match stream.checked_sub(self.stream(0)?) {
            Some(offset) if offset < 48 => Ok(offset / 16),
            _ => not_modelled("a stream other than the standard ones"),
        }
    }

    fn put(&mut self, descriptor: u64, bytes: &[u8]) -> Step<u64> {
        match descriptor {
            1 => self.output.extend(bytes),
            2 => self.errors.extend(bytes),
            other => return not_modelled(format!("output to descriptor {other}")),
        }
        Ok(bytes.len() as u64)
    }

    pub(super) fn stream_call(&mut self, name: &str, arguments: &[Datum]) -> Step<Option<Datum>> {
        let word = |index: usize| arguments.get(index).map_or(0, Datum::word);
        let written = match name {
            "puts" => {
                let mut line = self.memory.string(word(0))?;
                line.push(b'\n');
                self.put(1, &line)?
            }
            "putchar" | "putchar_unlocked" => {
                self.put(1, &[word(0) as u8])?;
                word(0) & 0xff
            }
            "fputc" | "putc" | "putc_unlocked" => {
                let descriptor = self.descriptor(word(1))?;
                self.put(descriptor, &[word(0) as u8])?;
                word(0) & 0xff
            }
            "fputs" | "fputs_unlocked" => {
                let descriptor = self.descriptor(word(1))?;
                let text = self.memory.string(word(0))?;
                self.put(descriptor, &text)?
            }
            "fwrite" | "fwrite_unlocked" => {
                let descriptor = self.descriptor(word(3))?;
                let bytes = self.memory.read(word(0), word(1) * word(2))?.to_vec();
                self.put(descriptor, &bytes)?;
                word(2)
            }
            "write" => {
                let bytes = self.memory.read(word(1), word(2))?.to_vec();
                self.put(word(0), &bytes)?
            }
            "writev" => {
                let mut written = 0;
                for vector in (0..word(2)).map(|index| word(1) + index * 16) {
                    let (start, length) = (
                        self.memory.read_word(vector)?,
                        self.memory.read_word(vector + 8)?,
                    );
                    let bytes = self.memory.read(start, length)?.to_vec();
                    written += self.put(word(0), &bytes)?;
                }
                written
            }
            "fflush" => 0,
            _ => return self.formatted_call(name, arguments),
        };
        Ok(Some(written.into()))
    }

    /// The `printf` family.
    fn formatted_call(&mut self, name: &str, arguments: &[Datum]) -> Step<Option<Datum>> {
        let word = |index: usize| arguments.get(index).map_or(0, Datum::word);
        // Where the format stands, and whether a list of arguments follows.
        let (format, listed) = match name {
            "printf" => (0, false),
            "vprintf" => (0, true),
            "fprintf" | "dprintf" | "sprintf" | "__printf_chk" => (1, false),
            "vfprintf" | "vsprintf" | "__vprintf_chk" => (1, true),
            "snprintf" | "__fprintf_chk" => (2, false),
            "vsnprintf" | "__vfprintf_chk" => (2, true),
            "__sprintf_chk" => (3, false),
            "__snprintf_chk" => (4, false),
            "__vsnprintf_chk" => (4, true),
            _ => return Ok(None),
        };
        let text = match listed {
            true => self.format_list(word(format), word(format + 1))?,
            false => self.format_values(word(format), &arguments[format + 1..])?,
        };
        let plain = name
            .trim_start_matches('_')
            .trim_start_matches('v')
            .trim_end_matches("_chk");
        match plain {
            "printf" => self.put(1, &text)?,
            "fprintf" => {
                let descriptor = self.descriptor(word(0))?;
                self.put(descriptor, &text)?
            }
            "dprintf" => self.put(word(0), &text)?,
            "sprintf" => {
                self.put_string(word(0), &text)?;
                0
            }
            _ if word(1) == 0 => 0,
            _ => {
                let kept = text.len().min(word(1) as usize - 1);
                self.put_string(word(0), &text[..kept])?;
                0
            }
        };
        Ok(Some((text.len() as u64).into()))
    }
}
