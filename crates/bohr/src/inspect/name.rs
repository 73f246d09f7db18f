//! Names as people write them.

/// The name of a function as its language writes it.
pub fn readable(linkage: &str) -> String {
    addr2line::demangle_auto(linkage.into(), None).into_owned()
}

/// The same without parameters and hashes, as a user would type it.
pub fn short(linkage: &str) -> String {
    let name = readable(linkage);
    let name = name
        .split_once('(')
        .map_or(name.as_str(), |(before, _)| before);
    let hash = name.rsplit_once("::h").filter(|(_, hash)| {
        hash.len() == 16 && hash.chars().all(|digit| digit.is_ascii_hexdigit())
    });
    hash.map_or(name, |(before, _)| before).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_parameters_and_hashes() {
        assert_eq!(short("main"), "main");
        assert_eq!(short("_ZN3foo3barEi"), "foo::bar");
        assert_eq!(readable("_ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!(
            short("_ZN4core3fmt5write17h0123456789abcdefE"),
            "core::fmt::write"
        );
    }
}
