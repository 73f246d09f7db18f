//! Compiles the C part.

fn main() {
    cc::Build::new().file("native/area.c").compile("area");
}
