//! Sanitizers that the program was built with: what they report is a failure, at
//! the moment at which they see it. Their functions are part of the program, so
//! they are found by name, once, in the template.

use crate::{control, system, verdict};
use alloc::{borrow::Cow, format, string::String};
use bohr_event::FailureKind;
use core::{
    ffi::{CStr, c_char, c_uint, c_void},
    ptr,
};

/// Asks the program's sanitizers to tell us.
pub fn watch() {
    if let Some(set) = find(c"__asan_set_error_report_callback") {
        type Set = unsafe extern "C" fn(extern "C" fn(*const c_char));
        // SAFETY: the function of this name has this type.
        unsafe { core::mem::transmute::<usize, Set>(set)(address_report) };
    }
    // It does nothing and is there to be replaced, which a program that holds its
    // own copy leaves nobody but the linker to do.
    if let Some(callback) = find(c"__ubsan_on_report") {
        replace(callback, behaviour_report as *const () as usize);
    }
}

fn find(name: &CStr) -> Option<usize> {
    // SAFETY: a look-up with a valid name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
    (found != 0).then_some(found)
}

/// Writes a jump over the beginning of a function.
fn replace(function: usize, target: usize) {
    const PAGE: usize = 4096;
    let start = function & !(PAGE - 1);
    // movabs rax, target; jmp rax
    let mut jump = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0];
    jump[2..10].copy_from_slice(&target.to_le_bytes());
    let length = (function + jump.len()).next_multiple_of(PAGE) - start;
    let protect = |access: i32| {
        let arguments = [start, length, access as usize, 0, 0, 0];
        // SAFETY: changes the protection of code that nobody runs now.
        unsafe { system::try_call(libc::SYS_mprotect, arguments) }.is_ok()
    };
    if protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) {
        // SAFETY: functions are aligned to 16 bytes, so the next one begins behind.
        unsafe { ptr::copy_nonoverlapping(jump.as_ptr(), function as *mut u8, jump.len()) };
        protect(libc::PROT_READ | libc::PROT_EXEC);
    }
}

/// Called by AddressSanitizer with its whole report.
extern "C" fn address_report(report: *const c_char) {
    if !control::is_on() {
        return;
    }
    // SAFETY: the sanitizer passes a text.
    let report = unsafe { CStr::from_ptr(report) }.to_string_lossy();
    let headline = report
        .lines()
        .find_map(|line| line.split_once("ERROR: "))
        .map_or("AddressSanitizer", |(_, headline)| headline);
    // The process number and the registers differ from machine to machine.
    let headline = headline.split(" at pc ").next().unwrap_or(headline);
    verdict::fail(FailureKind::Sanitizer, headline);
}

/// Called by UndefinedBehaviorSanitizer when it has something to report.
extern "C" fn behaviour_report() {
    if control::is_on() {
        verdict::fail(FailureKind::Sanitizer, &behaviour());
    }
}

/// What it has to report.
fn behaviour() -> String {
    type Get = unsafe extern "C" fn(
        *mut *const c_char,
        *mut *const c_char,
        *mut *const c_char,
        *mut c_uint,
        *mut c_uint,
        *mut *const c_void,
    );
    let Some(get) = find(c"__ubsan_get_current_report_data") else {
        return String::from("undefined behaviour");
    };
    let [mut kind, mut message, mut file] = [c"".as_ptr(); 3];
    let (mut line, mut column, mut address) = (0, 0, ptr::null());
    // SAFETY: the function of this name has this type, and a report is going on.
    unsafe {
        core::mem::transmute::<usize, Get>(get)(
            &mut kind,
            &mut message,
            &mut file,
            &mut line,
            &mut column,
            &mut address,
        );
    }
    let text = |text: *const c_char| match text.is_null() {
        true => Cow::Borrowed(""),
        // SAFETY: texts of the report, which is going on.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy(),
    };
    format!("{} ({}:{line})", text(message), text(file))
}
