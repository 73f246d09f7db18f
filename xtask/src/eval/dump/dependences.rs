//! Table 1 of whole programs: how the blocks of the museum, of sqlite and of memcached
//! nest, as `bohr inspect` tells it.

use crate::bench_build::{sqlite, subject};
use crate::shell;
use crate::subjects::{Compilers as BuildTools, build};
use bohr_museum::{Compilers, Exhibit, Variant};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::Command;

/// The server that building is measured on.
const SERVER: (&str, &str) = ("memcached", "memcached/memcached");

/// A program, and blocks by class.
pub type Row = (String, Value);

/// All of them. What cannot be built is told in place of its row.
pub fn of_programs(bohr: &Path, exhibits: &[Exhibit]) -> Vec<Result<Row, String>> {
    let named = |name: &str, counts: Result<Value, String>| match counts {
        Ok(counts) => Ok((name.to_string(), counts)),
        Err(error) => Err(format!("{name}: {error}")),
    };
    vec![
        named(
            &format!("museum ({} programs)", exhibits.len()),
            museum(bohr, exhibits),
        ),
        named("sqlite", of_sqlite(bohr)),
        named(SERVER.0, of_server(bohr)),
    ]
}

/// Classes of a program and how many blocks each has.
pub fn inspected(bohr: &Path, program: &Path) -> Result<Value, String> {
    let text = shell::output(Command::new(bohr).args(["inspect", "--json"]).arg(program))?;
    let told: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok(told["nesting"].clone())
}

fn museum(bohr: &Path, exhibits: &[Exhibit]) -> Result<Value, String> {
    let mut sum = Map::new();
    for exhibit in exhibits {
        let compilers = Compilers::of_bohr(bohr);
        let program = bohr_museum::compile(exhibit, Variant::Buggy, &compilers)
            .map_err(|error| error.to_string())?;
        add(&mut sum, &inspected(bohr, &program)?);
    }
    Ok(Value::Object(sum))
}

fn add(sum: &mut Map<String, Value>, counts: &Value) {
    for (class, count) in counts.as_object().into_iter().flatten() {
        let before = sum.get(class).and_then(Value::as_u64).unwrap_or_default();
        let count = count.as_u64().unwrap_or_default();
        sum.insert(class.clone(), json!(before + count));
    }
}

fn of_sqlite(bohr: &Path) -> Result<Value, String> {
    let folder = shell::built("eval-dump").join("sqlite");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    inspected(bohr, &sqlite::build(bohr, &folder)?)
}

fn of_server(bohr: &Path) -> Result<Value, String> {
    let folder = shell::built("eval-dump").join(SERVER.0);
    let tools = BuildTools {
        cc: format!("{} cc", bohr.display()),
        cxx: format!("{} c++", bohr.display()),
    };
    build(subject(SERVER.0)?, &tools, &folder)?;
    inspected(bohr, &folder.join(SERVER.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_added_one_by_one() {
        let mut sum = Map::new();
        add(&mut sum, &json!({ "one": 3, "loop": 1 }));
        add(&mut sum, &json!({ "one": 4, "aggregated": 2 }));
        let expected = json!({ "one": 7, "loop": 1, "aggregated": 2 });
        assert_eq!(Value::Object(sum), expected);
    }
}
