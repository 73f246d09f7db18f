//! What came from outside in the recorded run: time, chance, and what was read. Every
//! thread has its answers in the order in which it asked, so the next one is the one
//! to a call that asks for it.

use super::thread::Thread;
use super::{Halt, Step, World, not_modelled};
use crate::datum::Datum;
use crate::event::Action;
use crate::term::{Scalar, ones};
use bohr_event::inputs::{Answer, Input, Opened, Question};
use bohr_program::{Call, Type};

const SECOND: u64 = 1_000_000_000;
/// As much as the C library takes for a stream.
const STREAM: u64 = 216;
/// As much as `getline` takes at first.
const LINE: u64 = 120;

/// A buffered stream, as far as it was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    held: Vec<u8>,
    /// Nothing comes any more.
    ended: bool,
    failed: bool,
}

impl<'p> Thread<'p> {
    /// A call whose result cannot be computed, if it is one that is recorded.
    pub(super) fn about_outside(
        &mut self,
        world: &mut dyn World,
        name: &str,
        arguments: &[Datum],
        call: &'p Call,
    ) -> Step<Option<Datum>> {
        let name = plain(name);
        let at = |index: usize| arguments[index].scalar();
        let returned = match name {
            "time" => {
                let now = self.time(name)? / SECOND;
                self.tell(world, at(0), &now.to_le_bytes())?;
                now as i64
            }
            "clock_gettime" | "timespec_get" => {
                let now = self.time(name)?;
                let both = [now / SECOND, now % SECOND].map(u64::to_le_bytes).concat();
                let to = usize::from(name == "clock_gettime");
                self.tell(world, at(to), &both)?;
                (to ^ 1) as i64
            }
            "gettimeofday" => {
                let now = self.time(name)? / 1000;
                let both = [now / 1_000_000, now % 1_000_000].map(u64::to_le_bytes);
                self.tell(world, at(0), &both.concat())?;
                0
            }
            "rand"
            | "random"
            | "arc4random"
            | "arc4random_uniform"
            | "_ZNSt13random_device9_M_getvalEv" => self.number(name)?,
            "getrandom" | "getentropy" | "arc4random_buf" => {
                let bytes = self.chance(name)?;
                self.tell(world, at(0), &bytes)?;
                if name == "getrandom" {
                    bytes.len() as i64
                } else {
                    0
                }
            }
            "read" | "pread" | "pread64" | "recv" => {
                let answer = self.answer(name, Question::Read)?;
                self.tell(world, at(1), &answer.bytes)?;
                answer.result
            }
            "recvfrom" => {
                let answer = self.answer(name, Question::Read)?;
                let length = answer.bytes.len().min(answer.result.max(0) as usize);
                self.tell(world, at(1), &answer.bytes[..length])?;
                let [to, room] = [at(arguments.len() - 2), at(arguments.len() - 1)];
                self.tell_address(world, (to, room), &answer.bytes[length..])?;
                answer.result
            }
            "open" | "open64" | "openat" | "openat64" | "open_2" | "open64_2" | "openat_2"
            | "openat64_2" | "connect" => self.answer(name, Question::Open)?.result,
            "accept" | "accept4" => {
                let answer = self.answer(name, Question::Open)?;
                let peer = Opened::read(&answer.bytes).map_or(&[][..], |(_, peer)| peer);
                self.tell_address(world, (at(1), at(2)), peer)?;
                answer.result
            }
            "fopen" | "fopen64" => match self.answer(name, Question::Open)?.result {
                0.. => self.allocate(world, STREAM, 16)? as i64,
                _ => 0,
            },
            "stat" | "stat64" | "lstat" | "lstat64" => self.status(world, name, at(1))?,
            "fstatat" | "fstatat64" => self.status(world, name, at(2))?,
            "poll" | "ppoll" => {
                let answer = self.answer(name, Question::Ready)?;
                self.polled(world, arguments, &answer)?
            }
            "select" | "pselect" => {
                let answer = self.answer(name, Question::Ready)?;
                self.selected(world, arguments, &answer)?
            }
            "access" => self.status(world, name, Scalar::Known(0))?,
            _ => match self.about_streams(world, name, arguments)? {
                Some(returned) => returned,
                None => return Ok(None),
            },
        };
        Ok(Some(self.returned(call, returned)))
    }

    /// Functions on buffered streams.
    fn about_streams(
        &mut self,
        world: &mut dyn World,
        name: &str,
        arguments: &[Datum],
    ) -> Step<Option<i64>> {
        let at = |index: usize| arguments[index].scalar();
        let stream = |index: usize| self.known(&arguments[index], "a stream");
        Ok(Some(match name {
            "fgetc" | "getc" | "_IO_getc" | "getc_unlocked" => {
                let byte = self.take(world, stream(0)?, 1, false)?;
                byte.first().map_or(-1, |byte| i64::from(*byte))
            }
            "fgets" | "fgets_unlocked" => {
                let room = self.known(&arguments[1], "a length")?;
                let text = self.take(world, stream(2)?, room.saturating_sub(1), true)?;
                if text.is_empty() {
                    return Ok(Some(0));
                }
                self.tell(world, at(0), &[&text[..], &[0]].concat())?;
                self.known(&arguments[0], "a buffer")? as i64
            }
            "fread" | "fread_unlocked" => {
                let size = self.known(&arguments[1], "a size")?;
                let count = self.known(&arguments[2], "a size")?;
                let bytes = self.take(world, stream(3)?, size.saturating_mul(count), false)?;
                self.tell(world, at(0), &bytes)?;
                (bytes.len() as u64).checked_div(size).unwrap_or(0) as i64
            }
            "getline" => {
                let text = self.take(world, stream(2)?, u64::MAX, true)?;
                if text.is_empty() {
                    return Ok(Some(-1));
                }
                self.line(world, (at(0), at(1)), &[&text[..], &[0]].concat())?;
                text.len() as i64
            }
            "feof" | "feof_unlocked" => i64::from(self.streams_entry(stream(0)?).ended),
            "ferror" | "ferror_unlocked" => i64::from(self.streams_entry(stream(0)?).failed),
            _ => return Ok(None),
        }))
    }

    fn streams_entry(&mut self, stream: u64) -> &mut Stream {
        self.streams.entry(stream).or_default()
    }

    /// So many bytes of a stream, or up to the end of its line; fewer at its end.
    fn take(&mut self, world: &mut dyn World, stream: u64, most: u64, line: bool) -> Step<Vec<u8>> {
        loop {
            let held = &mut self.streams_entry(stream).held;
            let newline = held.iter().position(|byte| line && *byte == b'\n');
            let whole = newline.map_or(held.len() as u64, |at| at as u64 + 1);
            let enough = newline.is_some() || whole >= most;
            if enough || self.streams_entry(stream).ended {
                let count = whole.min(most) as usize;
                let held = &mut self.streams_entry(stream).held;
                return Ok(held.drain(..count).collect());
            }
            self.act(world, Action::Drain)?;
            let answer = self.answer("a stream", Question::Read)?;
            let entry = self.streams_entry(stream);
            entry.held.extend(&answer.bytes);
            entry.ended = answer.result <= 0;
            entry.failed |= answer.result < 0;
        }
    }

    /// A line, in a block that is large enough.
    fn line(
        &mut self,
        world: &mut dyn World,
        (place, room): (Scalar, Scalar),
        text: &[u8],
    ) -> Step<()> {
        world.begin(self.moment(bohr_event::MemoryOrder::Plain));
        let found = world
            .load(place, 8)
            .and_then(|block| Ok((block, world.load(room, 8)?)));
        world.finish();
        let length = text.len() as u64;
        let block = match found? {
            (block @ Scalar::Known(1..), Scalar::Known(room)) if room as u64 >= length => block,
            (Scalar::Known(_), Scalar::Known(_)) => {
                let size = length.max(LINE);
                let block = self.allocate(world, size, 16)?;
                self.tell(world, place, &block.to_le_bytes())?;
                self.tell(world, room, &size.to_le_bytes())?;
                block.into()
            }
            _ => return not_modelled("a line that is read to where others write"),
        };
        self.tell(world, block, text)
    }

    fn status(&mut self, world: &mut dyn World, name: &str, to: Scalar) -> Step<i64> {
        let answer = self.answer(name, Question::Status)?;
        self.tell(world, to, &answer.bytes)?;
        Ok(answer.result)
    }

    /// Writes bytes that came from outside, if anybody wants them.
    pub(super) fn tell(&mut self, world: &mut dyn World, to: Scalar, bytes: &[u8]) -> Step<()> {
        if to == Scalar::Known(0) || bytes.is_empty() {
            return Ok(());
        }
        world.begin(self.moment(bohr_event::MemoryOrder::Plain));
        let done = self.write(world, to, bytes);
        world.finish();
        done
    }

    fn tell_address(
        &mut self,
        world: &mut dyn World,
        (to, length): (Scalar, Scalar),
        address: &[u8],
    ) -> Step<()> {
        if to == Scalar::Known(0) {
            return Ok(());
        }
        self.tell(world, to, address)?;
        self.tell(world, length, &(address.len() as u32).to_le_bytes())
    }

    /// What a function returns, an error as it tells it.
    fn returned(&self, call: &Call, returned: i64) -> Datum {
        let signature = &self.code.program.types[call.signature];
        let bits = match signature {
            Type::Function { result, .. } => match self.code.program.types[*result] {
                Type::Void => return Datum::NOTHING,
                _ => self.code.number(*result).bits(),
            },
            _ => 64,
        };
        let value = returned.max(-1).cast_unsigned();
        Datum::Scalar(Scalar::Known(u128::from(value) & ones(bits)))
    }

    fn next<T>(&mut self, name: &str, wanted: impl FnOnce(Input) -> Option<T>) -> Step<T> {
        let next = self.inputs.pop_front().and_then(wanted);
        next.ok_or_else(|| {
            Halt::NotModelled(format!("{name}, of which the log does not tell the result"))
        })
    }

    fn time(&mut self, name: &str) -> Step<u64> {
        self.next(name, |input| match input {
            Input::Time(nanoseconds) => Some(nanoseconds),
            _ => None,
        })
    }

    fn number(&mut self, name: &str) -> Step<i64> {
        self.next(name, |input| match input {
            Input::Number(number) => Some(number.cast_signed()),
            _ => None,
        })
    }

    fn chance(&mut self, name: &str) -> Step<Vec<u8>> {
        self.next(name, |input| match input {
            Input::Random(bytes) => Some(bytes),
            _ => None,
        })
    }

    fn answer(&mut self, name: &str, question: Question) -> Step<Answer> {
        self.next(name, |input| match input {
            Input::Answer(answer) if answer.question == question => Some(answer),
            _ => None,
        })
    }
}

/// A function without what checked builds add to its name.
fn plain(name: &str) -> &str {
    let checked = name.strip_suffix("_chk").unwrap_or(name);
    match checked == name && !name.contains("open") {
        true => name,
        false => checked.trim_start_matches("__"),
    }
}
