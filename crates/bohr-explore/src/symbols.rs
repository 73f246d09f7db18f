//! The functions of an object's native code, by its symbol table: names that
//! hold wherever a linker puts the code.

use object::{Object, ObjectSymbol, SymbolKind};

/// The symbols of one object that name code, by address.
#[derive(Debug, Default)]
pub struct Symbols {
    /// Sorted by address, one per address.
    functions: Vec<Symbol>,
}

#[derive(Debug)]
struct Symbol {
    start: u64,
    end: u64,
    name: String,
}

impl Symbols {
    /// Of an object; a stripped one has those that it exports.
    #[must_use]
    pub fn of(object: &object::File<'_>) -> Symbols {
        let all = object.symbols().chain(object.dynamic_symbols());
        let functions = all.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
        let mut functions: Vec<Symbol> = functions
            .filter_map(|symbol| {
                Some(Symbol {
                    start: symbol.address(),
                    end: symbol.address().checked_add(symbol.size())?,
                    name: symbol.name().ok()?.to_string(),
                })
            })
            .collect();
        // Aliases share an address; which name is taken must not depend on the
        // order in which a linker wrote them.
        functions.sort_by(|a, b| (a.start, &a.name).cmp(&(b.start, &b.name)));
        functions.dedup_by_key(|symbol| symbol.start);
        Symbols { functions }
    }

    /// The function that holds an address, and how far into it the address is.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<(&str, u64)> {
        let behind = self
            .functions
            .partition_point(|symbol| symbol.start <= address);
        let symbol = self.functions.get(behind.checked_sub(1)?)?;
        (address < symbol.end).then(|| (&*symbol.name, address - symbol.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(ranges: &[(u64, u64, &str)]) -> Symbols {
        let functions = ranges.iter().map(|&(start, end, name)| Symbol {
            start,
            end,
            name: name.to_string(),
        });
        Symbols {
            functions: functions.collect(),
        }
    }

    #[test]
    fn an_address_belongs_to_the_function_around_it() {
        let symbols = symbols(&[(10, 20, "first"), (20, 25, "second"), (40, 50, "third")]);
        assert_eq!(symbols.find(9), None);
        assert_eq!(symbols.find(10), Some(("first", 0)));
        assert_eq!(symbols.find(19), Some(("first", 9)));
        assert_eq!(symbols.find(20), Some(("second", 0)));
        assert_eq!(symbols.find(30), None);
        assert_eq!(symbols.find(49), Some(("third", 9)));
        assert_eq!(symbols.find(50), None);
        assert_eq!(Symbols::default().find(1), None);
    }

    #[test]
    fn this_program_knows_its_own_functions() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let object = object::File::parse(&*bytes).unwrap();
        let found = Symbols::of(&object);
        assert!(found.functions.iter().any(|symbol| symbol.name == "main"));
    }
}
