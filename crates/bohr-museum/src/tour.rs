//! The table in `museum/README.md`, made from the
//! manifests so that it cannot say anything else.

use crate::hunt::expected_kind;
use crate::{Error, Exhibit};
use std::fmt::Write;

/// The lines between which the table stands.
const BEGIN: &str = "<!-- tour: written by `cargo xtask museum tour` -->";
const END: &str = "<!-- end of tour -->";

/// The guide with the table of these exhibits.
///
/// # Errors
/// If the guide does not mark the table's place.
pub fn with_table(guide: &str, exhibits: &[Exhibit]) -> Result<String, Error> {
    let missing = || Error::Guide {
        begin: BEGIN,
        end: END,
    };
    let (before, rest) = guide.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    let table = table(exhibits);
    Ok(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

/// One row per exhibit, in Markdown.
#[must_use]
pub fn table(exhibits: &[Exhibit]) -> String {
    let mut table = String::from(
        "| exhibit | | class | shows as | threads | switches | natively |\n\
         | --- | --- | --- | --- | ---: | ---: | ---: |\n",
    );
    for exhibit in exhibits {
        let manifest = &exhibit.manifest;
        writeln!(
            table,
            "| [{name}]({name}/{source}) ({language}) | {title} | {class} | {kind} | {threads} | {preemptions} | {native} |",
            name = manifest.name,
            source = manifest.language.source(),
            language = manifest.language,
            title = manifest.title,
            class = manifest.class,
            kind = expected_kind(exhibit),
            threads = manifest.minimum.threads,
            preemptions = manifest.minimum.preemptions,
            native = exhibit.rate(),
        )
        .expect("a string takes all");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{all, museum};
    use std::fs;

    #[test]
    fn the_guide_is_in_step() {
        let guide = fs::read_to_string(museum().join("README.md")).unwrap();
        let fresh = with_table(&guide, &all().unwrap()).unwrap();
        assert!(
            guide == fresh,
            "the table in museum/README.md is stale; run `cargo xtask museum tour`"
        );
    }

    #[test]
    fn a_guide_without_a_place_is_told() {
        assert!(with_table("# Museum", &[]).is_err());
        let guide = format!("a\n{BEGIN}\nold\n{END}\nb");
        let fresh = with_table(&guide, &[]).unwrap();
        assert!(fresh.starts_with("a\n") && fresh.ends_with("\nb") && !fresh.contains("old"));
    }
}
