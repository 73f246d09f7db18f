//! placeholder until the commands are written
fn main() {}
