//! Which symbols of a program something outside its bitcode can refer to: native
//! objects, shared libraries, the linker's options, the C start files.

use bohr_bundle::{Bundle, BundleError, Content, Input, LinkLine, OutputKind, ScriptKind};
use object::{Object, ObjectSymbol};
use std::collections::HashSet;
use std::fs;

/// Names that the C library's start code looks for.
const START: [&str; 4] = ["main", "_start", "_init", "_fini"];

/// Symbols that have to keep their names.
#[derive(Debug, Default)]
pub struct Outside {
    names: HashSet<String>,
    everything: bool,
}

impl Outside {
    /// Looks at the native parts, the shared libraries and the link line of a linked
    /// file; of a shared library also at what it exports in the end, which visibility
    /// and version scripts have had a say in.
    ///
    /// # Errors
    /// If the bundle is damaged.
    pub fn of(bundle: &Bundle<'_>, linked: &[u8]) -> Result<Outside, BundleError> {
        let link = bundle.link();
        let mut outside = Outside {
            names: START.iter().map(ToString::to_string).collect(),
            everything: exports_everything(link),
        };
        outside.add_options(link);
        if link.output == OutputKind::SharedLibrary {
            outside.everything |= object::File::parse(linked).is_err();
            outside.add_library(linked);
        }
        for (id, part) in bundle.numbered_parts() {
            if let Content::Native(_) = part.content {
                outside.add_object(&bundle.contents(id)?);
            }
        }
        for input in &link.inputs {
            if let Input::SharedLibrary { path, .. } = input {
                // A library that is gone makes the second link fail with a message of its own.
                outside.add_library(&fs::read(path).unwrap_or_default());
            }
        }
        Ok(outside)
    }

    /// Whether something outside can refer to a symbol.
    #[must_use]
    pub fn needs(&self, name: &str) -> bool {
        self.everything || self.names.contains(name)
    }

    fn add_options(&mut self, link: &LinkLine) {
        let options = &link.options;
        self.names.extend(options.entry.iter().cloned());
        self.names.extend(options.exported.iter().cloned());
        self.names.extend(options.undefined.iter().cloned());
        for name in &options.wrap {
            self.names.insert(name.clone());
            self.names.insert(format!("__wrap_{name}"));
            self.names.insert(format!("__real_{name}"));
        }
        let words = options.defsym.iter().chain(&options.kept);
        for text in words {
            let is_symbol = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
            self.names
                .extend(text.split(|c| !is_symbol(c)).map(str::to_string));
        }
    }

    fn add_object(&mut self, bytes: &[u8]) {
        let Ok(object) = object::File::parse(bytes) else {
            // Not an object: a linker script or the like. It can name anything.
            self.everything = true;
            return;
        };
        let names = object
            .symbols()
            .filter(|symbol| symbol.is_global() || symbol.is_undefined());
        self.names
            .extend(names.filter_map(|symbol| symbol.name().ok().map(str::to_string)));
    }

    fn add_library(&mut self, bytes: &[u8]) {
        if let Ok(object) = object::File::parse(bytes) {
            let names = object.dynamic_symbols();
            self.names
                .extend(names.filter_map(|symbol| symbol.name().ok().map(str::to_string)));
        }
    }
}

fn exports_everything(link: &LinkLine) -> bool {
    let library = link.output == OutputKind::SharedLibrary;
    !library && link.options.export_dynamic
        || link
            .options
            .scripts
            .iter()
            .any(|script| matches!(script.kind, ScriptKind::DynamicList | ScriptKind::Layout))
}
