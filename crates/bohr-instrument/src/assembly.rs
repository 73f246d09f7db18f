//! Inline assembly that keeps a processor's stores in order. What it does to memory
//! is not seen; that it empties the store buffer is read off its text, since real
//! programs write `mfence` and `lock` that way. Assembly that may write memory
//! behind the compiler's back counts, too: its stores come after those before it.
//! An empty text is for the compiler alone, and a hint to wait orders nothing.

/// Words after which no store of before waits any more.
const ORDERING: [&str; 5] = ["mfence", "lock", "xchg", "cpuid", "serialize"];

/// Instructions that neither order stores nor make any.
const HARMLESS: [&str; 8] = [
    "pause",
    "rep",
    "nop",
    "lfence",
    "sfence",
    "rdtsc",
    "rdtscp",
    "prefetchw",
];

/// Whether stores from before are in memory when this assembly has been executed.
#[must_use]
pub fn orders_stores(template: &str, constraints: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = || {
        template
            .split(|c| !is_part(c))
            .filter(|word| !word.is_empty())
    };
    let orders = |word: &str| ORDERING.iter().any(|other| word.starts_with(other));
    let writes = constraints.contains("~{memory}") || constraints.contains("=*");
    let does_something = words().any(|word| !HARMLESS.contains(&word));
    words().any(orders) || writes && does_something
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_and_locked_instructions_order_and_hints_do_not() {
        let memory = "~{memory},~{dirflag},~{fpsr},~{flags}";
        for (template, constraints, orders) in [
            ("mfence", "~{dirflag}", true),
            ("lock; addl $$0,0(%rsp)", memory, true),
            ("lock\n\tcmpxchgl $2,$1", "={ax},=*m,r", true),
            ("xchgl $0,$1", "=r,=*m", true),
            ("", memory, false),
            ("pause", memory, false),
            ("rep; nop", memory, false),
            ("sfence", memory, false),
            ("movl $$1,$0", "=*m", true),
            ("bsrl $1,$0", "=r,r", false),
        ] {
            assert_eq!(orders_stores(template, constraints), orders, "{template:?}");
        }
    }
}
