//! Lists the parts of a program that was built with bohr.
//!
//! `cargo run -p bohr-bundle --example list PROGRAM`

use bohr_bundle::{Bundle, Content};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: list PROGRAM")?;
    let program = std::fs::read(path)?;
    let bundle = Bundle::in_program(&program)?;
    println!("{:?}, {:?}", bundle.hash(), bundle.link().output);
    for part in bundle.parts() {
        let content = match part.content {
            Content::Bitcode => format!("bitcode of {:?}", part.language),
            Content::Native(reason) => format!("native ({reason})"),
        };
        println!("{:?} {:9} {content}: {}", part.hash, part.size, part.origin);
    }
    println!("{:#?}", bundle.link().options);
    Ok(())
}
