//! What the standard libraries ask of the system before and after `main`, as a
//! system with one thread, no files and no signals answers.

use super::NOTHING;
use crate::interpret::Step;
use crate::interpret::datum::Datum;
use crate::interpret::machine::Machine;

const FAILED: u64 = u64::MAX;

/// Room for the keys of the one thread: the last key given, then their values.
const KEYS: u64 = 1024 * 8 + 8;

impl Machine<'_> {
    pub(super) fn system_call(&mut self, name: &str, arguments: &[Datum]) -> Step<Option<Datum>> {
        let word = |index: usize| arguments.get(index).map_or(0, Datum::word);
        Ok(Some(match name {
            "__errno_location" => self.library_memory("errno", 16)?.into(),
            "getenv" | "secure_getenv" => 0u64.into(),
            "getpid" | "gettid" => 1u64.into(),
            "pthread_self" => 1u64.into(),
            "signal"
            | "sigaction"
            | "sigaltstack"
            | "sigemptyset"
            | "sigaddset"
            | "poll"
            | "pthread_mutex_lock"
            | "pthread_mutex_unlock"
            | "pthread_mutex_init"
            | "pthread_mutex_destroy"
            | "pthread_mutexattr_init"
            | "pthread_mutexattr_settype"
            | "pthread_mutexattr_destroy"
            | "pthread_key_delete"
            | "pthread_attr_destroy"
            | "sched_yield"
            | "munmap"
            | "mprotect" => 0u64.into(),
            "pthread_getattr_np" => FAILED.into(),
            "sysconf" => 4096u64.into(),
            "pthread_key_create" => {
                let table = self.library_memory("keys", KEYS)?;
                let key = self.memory.read_word(table)? + 1;
                self.memory.write_word(table, key)?;
                self.memory.write(word(0), &(key as u32).to_le_bytes())?;
                0u64.into()
            }
            "pthread_getspecific" => {
                let table = self.library_memory("keys", KEYS)?;
                self.memory.read_word(table + (word(0) & 1023) * 8)?.into()
            }
            "pthread_setspecific" => {
                let table = self.library_memory("keys", KEYS)?;
                self.memory
                    .write_word(table + (word(0) & 1023) * 8, word(1))?;
                0u64.into()
            }
            // Nobody may rely on what random bytes are.
            "getrandom" => {
                self.memory.bytes(word(0), word(1))?.fill(4);
                word(1).into()
            }
            "sched_getaffinity" | "syscall" => FAILED.into(),
            "gnu_get_libc_version" => 0u64.into(),
            "tzset" => NOTHING,
            _ => return Ok(None),
        }))
    }
}
