//! Which access of one program is which of another one, where the other was made from
//! sources of which a line was changed. Functions go by their ids; what is in them, by
//! its kind, line and column, and its turn among those that have the same.

use bohr_program::{FileNumber, FunctionNumber, Program, Site, SiteNumber};
use std::collections::{HashMap, HashSet};

/// What was changed: something was put before what stands on a line.
#[derive(Clone, Debug, Default)]
pub struct Insertion {
    /// The files, in the first program, that are the changed one.
    pub files: HashSet<FileNumber>,
    /// The line.
    pub line: u32,
    /// How far what stands there has moved, in columns.
    pub columns: u16,
}

/// What tells a site from the others of its function.
type Key = (u32, u32, u16);

/// The sites of the second program by those of the first that they are. Left out are
/// those of which one has more than the other.
#[must_use]
pub fn counterparts(
    one: &Program,
    other: &Program,
    insertion: &Insertion,
) -> HashMap<SiteNumber, SiteNumber> {
    let moved = |site: &Site| {
        let location = one.instruction_of(site).location.expand();
        let location = location.map(|number| &one.locations[number]);
        location.is_some_and(|location| {
            let file = one.scopes[location.scope].file.expand();
            location.line == insertion.line
                && file.is_some_and(|file| insertion.files.contains(&file))
        })
    };
    let first = by_function(one, |site| match moved(site) {
        true => insertion.columns,
        false => 0,
    });
    let second = by_function(other, |_| 0);
    let ids = |program: &Program| -> HashMap<_, FunctionNumber> {
        let functions = program.functions.iter();
        functions
            .map(|(number, function)| (function.id, number))
            .collect()
    };
    let others = ids(other);
    let mut found = HashMap::new();
    for (function, sites) in first {
        let id = one.functions[function].id;
        let Some(counterpart) = others.get(&id).and_then(|number| second.get(number)) else {
            continue;
        };
        for (key, own) in sites {
            let same = counterpart.get(&key).filter(|same| same.len() == own.len());
            found.extend(
                same.into_iter()
                    .flatten()
                    .zip(own)
                    .map(|(theirs, own)| (own, *theirs)),
            );
        }
    }
    found
}

fn by_function(
    program: &Program,
    columns: impl Fn(&Site) -> u16,
) -> HashMap<FunctionNumber, HashMap<Key, Vec<SiteNumber>>> {
    let mut found: HashMap<_, HashMap<Key, Vec<SiteNumber>>> = HashMap::new();
    for (number, site) in program.sites.iter() {
        let location = program.instruction_of(site).location.expand();
        let (line, column) = location.map_or((0, 0), |location| {
            let location = &program.locations[location];
            (location.line, location.column.saturating_add(columns(site)))
        });
        let of_function = found.entry(site.function).or_default();
        of_function
            .entry((site.packed, line, column))
            .or_default()
            .push(number);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::abi::SiteInfo;
    use bohr_event::{EventKind, MemoryOrder};
    use bohr_program::{
        Access, ArgumentNumber, BodyBuilder, Location, Operation, ProgramBuilder, Scope,
        SourceFile, Type,
    };
    use cranelift_entity::EntityRef;

    /// A function of loads at these lines and columns, all in one file.
    fn program(loads: &[(u32, u16)]) -> Program {
        let mut builder = ProgramBuilder::new("e-p:64:64-i64:64-n8:16:32:64");
        let void = builder.type_of(Type::Void);
        let pointer = builder.type_of(Type::Pointer(0));
        let int = builder.type_of(Type::Integer(32));
        let signature = builder.type_of(Type::Function {
            result: void,
            parameters: [pointer].into(),
            variadic: false,
        });
        let [path, directory, name] = ["sum.c", "/", "sum"].map(|text| builder.text(text));
        let file = builder.program().files.push(SourceFile { path, directory });
        let scope = builder.program().scopes.push(Scope {
            name,
            linkage_name: name,
            file: file.into(),
            line: 1,
        });
        let mut body = BodyBuilder::default();
        body.block();
        for (line, column) in loads {
            let location = builder.location(Location {
                scope,
                line: *line,
                column: *column,
                inlined_at: None.into(),
            });
            body.at(Some(location));
            let (address, access) = (ArgumentNumber::new(0).into(), Access::PLAIN);
            body.push(Operation::Load { address, access }, int);
        }
        body.push(Operation::Return { value: None.into() }, void);
        let function = builder.define("sum", signature, body.finish());
        let info = SiteInfo::new(EventKind::Read, MemoryOrder::Plain, 4);
        for instruction in 0..loads.len() {
            builder.site(function, EntityRef::new(instruction), info);
        }
        builder.finish()
    }

    #[test]
    fn what_a_check_reads_is_nobodys_counterpart() {
        let one = program(&[(4, 5), (5, 5), (5, 9), (6, 5), (6, 5), (7, 1)]);
        // A check of 20 columns that reads twice before what is on line 5, and one of the
        // two at line 6 is gone.
        let other = program(&[(4, 5), (5, 5), (5, 9), (5, 25), (5, 29), (6, 5), (7, 1)]);
        let insertion = Insertion {
            files: one.files.keys().collect(),
            line: 5,
            columns: 20,
        };
        let found = counterparts(&one, &other, &insertion);
        let site = SiteNumber::from_u32;
        let expected = [(0, 0), (1, 3), (2, 4), (5, 6)];
        let expected = expected.map(|(own, theirs)| (site(own), site(theirs)));
        assert_eq!(found, HashMap::from(expected));
    }
}
