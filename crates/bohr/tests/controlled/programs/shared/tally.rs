//! The same library in Rust.

static mut TOTAL: i32 = 0;

#[unsafe(no_mangle)]
pub extern "C" fn tally_add(amount: i32) {
    // SAFETY: none; that is the bug.
    unsafe {
        let total = &raw mut TOTAL;
        let seen = total.read(); // marker: looks
        total.write(seen + amount); // marker: puts
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn tally_total() -> i32 {
    // SAFETY: called when all threads have ended.
    unsafe { (&raw const TOTAL).read() }
}
