//! Loops as rustc leaves them; flags: -Copt-level=2 -g -Cno-vectorize-loops
unsafe extern "C" {
    safe fn consume(value: i32) -> i32;
}

#[unsafe(no_mangle)]
pub fn range(n: i32) {
    for i in 0..n { //~ depth 1; counts by Constant(1), compared after the change; skips with the test Last, 2 again, 0 of 1 phis kept, 0 after
        consume(i);
    }
}

#[unsafe(no_mangle)]
pub fn slice(numbers: &[i32]) {
    for number in numbers { //~ depth 1; counts by Constant(4), compared after the change; skips with the test Last, 2 again, 0 of 1 phis kept, 0 after
        consume(*number);
    }
}

#[unsafe(no_mangle)]
pub fn checked(numbers: &[i32], n: usize) -> i32 {
    let mut sum = 0;
    for i in 0..n {
        sum += consume(numbers[i]); //~ depth 1; counts by Constant(1), compared after the change; skips with the test Last, 2 again, 1 of 2 phis kept, 1 after
    }
    sum
}

#[unsafe(no_mangle)]
pub fn found(numbers: &[i32]) -> bool {
    numbers.iter().any(|number| consume(*number) == 1) //~ depth 1; does not count: ends at 2 places: b1, b2; cannot skip: ends at 2 places: b1, b2
}
