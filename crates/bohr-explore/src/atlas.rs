//! From place numbers of one process to places that everybody understands, and
//! to lines of the source.

use crate::symbols::Symbols;
use addr2line::Loader;
use bohr_event::control::LoadedObject;
use bohr_event::{FunctionId, Place, PlaceNumber, Schedule};
use bohr_explain::Globals;
use bohr_program::{Function, Libraries, LocationNumber, Program, Site, SiteNumber};
use cranelift_entity::EntityRef;
use object::{Object, ObjectSegment};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// A line of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The function, as its author wrote it.
    pub function: Option<String>,
    /// File and line.
    pub line: Option<String>,
}

impl Spot {
    /// Whether a line of a source is known, rather than an offset into code.
    pub(crate) fn has_line(&self) -> bool {
        let line = self.line.as_deref();
        line.is_some_and(|line| !line.contains("+0x"))
    }
}

impl std::fmt::Display for Spot {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.function, &self.line) {
            (Some(function), Some(line)) => write!(out, "{function} at {line}"),
            (Some(function), None) => out.write_str(function),
            (None, Some(line)) => out.write_str(line),
            (None, None) => out.write_str("?"),
        }
    }
}

/// The objects of a process, with what is known about their code.
#[derive(Default)]
pub struct Atlas {
    objects: Vec<LoadedObject>,
    models: Vec<Arc<Program>>,
    /// By path; `None` for files that cannot be read.
    code: HashMap<String, Option<CodeTables>>,
    /// By path, too.
    globals: HashMap<String, Option<Globals>>,
    /// Of each model, by symbol.
    functions: Vec<HashMap<String, FunctionId>>,
    /// By path, which model the code was made from.
    profiles: HashMap<String, usize>,
    /// What the author of the program does not want to read about.
    libraries: Libraries,
}

/// Libraries whose frames say how a failure was reported, not where it is.
const MACHINERY: [&str; 7] = [
    "libbohr_runtime.so",
    "libc.so",
    "libpthread",
    "ld-linux",
    "libstdc++.so",
    "libgcc_s.so",
    "linux-vdso",
];

impl Atlas {
    /// Of a process with these objects; `models` are those of instrumented ones.
    #[must_use]
    pub fn new(objects: Vec<LoadedObject>, models: Vec<Arc<Program>>) -> Atlas {
        let functions = models.iter().map(|model| {
            let named =
                |function: &Function| (model.texts[function.symbol].to_string(), function.id);
            model.functions.values().map(named).collect()
        });
        Atlas {
            functions: functions.collect(),
            profiles: HashMap::new(),
            objects,
            models,
            code: HashMap::new(),
            globals: HashMap::new(),
            libraries: Libraries::default(),
        }
    }

    /// The same, knowing which files were made from which models, by their identities.
    #[must_use]
    pub fn with_profiles<'a>(
        mut self,
        profiles: impl Iterator<Item = (&'a Path, &'a [u8; 32])>,
    ) -> Atlas {
        for (path, identity) in profiles {
            let mut models = self.models.iter();
            let Some(model) = models.position(|model| model.identity == *identity) else {
                continue;
            };
            // The kernel tells a program's path without links in it, the loader a
            // library's as it was asked for.
            let real = path.canonicalize();
            for path in [Some(path), real.as_deref().ok()].into_iter().flatten() {
                let path = path.to_string_lossy().into_owned();
                self.profiles.insert(path, model);
            }
        }
        self
    }

    /// What counts as a library in what is told of places.
    #[must_use]
    pub fn libraries(&self) -> Libraries {
        self.libraries
    }

    /// Sets it.
    pub fn set_libraries(&mut self, libraries: Libraries) {
        self.libraries = libraries;
    }

    /// The objects of the process.
    #[must_use]
    pub fn objects(&self) -> &[LoadedObject] {
        &self.objects
    }

    /// The models of the instrumented objects.
    #[must_use]
    pub fn models(&self) -> &[Arc<Program>] {
        &self.models
    }

    /// Takes over the table of objects of a run, of which this one may know more: runs
    /// that load libraries themselves can do so in different orders.
    pub fn update(&mut self, objects: &[LoadedObject]) {
        if !self.objects.starts_with(objects) {
            self.objects = objects.to_vec();
        }
    }

    fn model(&self, identity: &[u8; 32]) -> Option<&Arc<Program>> {
        self.models.iter().find(|model| model.identity == *identity)
    }

    /// The program model and site that a number stands for.
    #[must_use]
    pub fn site(&self, number: PlaceNumber) -> Option<(&Arc<Program>, SiteNumber)> {
        let LoadedObject::Sites { program, .. } = self.objects.get(usize::from(number.object()))?
        else {
            return None;
        };
        let model = self.model(program)?;
        let site = SiteNumber::new(usize::try_from(number.offset()).ok()?);
        model.site(site).map(|_| (model, site))
    }

    /// The name of a place that holds in other processes too.
    #[must_use]
    pub fn place(&self, number: PlaceNumber) -> Place {
        if let Some((model, site)) = self.site(number) {
            return Place::Site(model.site_id(site));
        }
        let object = match self.objects.get(usize::from(number.object())) {
            Some(LoadedObject::Code { path, .. }) => file_name(path).to_string(),
            Some(LoadedObject::Sites { program, .. }) => {
                format!(
                    "sites-{:02x}{:02x}{:02x}{:02x}",
                    program[0], program[1], program[2], program[3]
                )
            }
            None => format!("object-{}", number.object()),
        };
        Place::Code {
            object,
            offset: number.offset(),
        }
    }

    /// The name of a place that holds in every build in which its function is
    /// the same: for signatures. Places without a symbol keep their offset.
    pub fn lasting_place(&mut self, number: PlaceNumber) -> Place {
        match self.within(number) {
            Some((function, offset)) => Place::Within { function, offset },
            None => self.place(number),
        }
    }

    /// The function that holds a code place, and how far into it the place is.
    fn within(&mut self, number: PlaceNumber) -> Option<(FunctionId, u64)> {
        let tables = self.code_tables(number)?;
        // A call that never returns may end its function: look one back.
        let address = tables.base + number.offset().checked_sub(1)?;
        let (name, offset) = tables.symbols.find(address)?;
        let (name, offset) = (name.to_string(), offset + 1);
        Some((self.function_named(number, &name), offset))
    }

    /// The function with this symbol in the object of a place: of libraries and the
    /// program, several can have functions of one name.
    fn function_named(&self, number: PlaceNumber, symbol: &str) -> FunctionId {
        let path = match self.objects.get(usize::from(number.object())) {
            Some(LoadedObject::Code { path, .. }) => path,
            _ => return by_symbol(symbol),
        };
        let model = self.profiles.get(path);
        let known = model.and_then(|&model| self.functions[model].get(symbol));
        known.copied().unwrap_or_else(|| by_symbol(symbol))
    }

    /// What is known about the code of the object that a place lies in.
    fn code_tables(&mut self, number: PlaceNumber) -> Option<&CodeTables> {
        let LoadedObject::Code { path, .. } = self.objects.get(usize::from(number.object()))?
        else {
            return None;
        };
        let tables = self.code.entry(path.clone());
        tables.or_insert_with(|| CodeTables::load(path)).as_ref()
    }

    /// The name of the global variable at an address.
    pub fn global(&mut self, address: u64) -> Option<String> {
        let (globals, start) = self.globals_around(address)?;
        globals.name(address - start).map(demangled)
    }

    /// Where the global variable begins that an address lies in.
    pub fn global_start(&mut self, address: u64) -> Option<u64> {
        let (globals, start) = self.globals_around(address)?;
        Some(start + globals.start(address - start)?)
    }

    /// What so many bytes at an address held when their object was loaded; `None` if that
    /// is in no file, or if the loader decided on it.
    #[must_use]
    pub fn initially(&self, address: u64, size: u32) -> Option<u64> {
        let (path, start) = self.object_around(address)?;
        crate::initial::initially(Path::new(&path), address - start, size)
    }

    /// The file that is loaded around an address, and where.
    fn object_around(&self, address: u64) -> Option<(String, u64)> {
        self.objects.iter().find_map(|object| match object {
            LoadedObject::Code { path, start, end } if (*start..*end).contains(&address) => {
                Some((path.clone(), *start))
            }
            _ => None,
        })
    }

    /// The name of the file that is loaded around an address.
    #[must_use]
    pub fn file_around(&self, address: u64) -> Option<String> {
        let (path, _) = self.object_around(address)?;
        Some(file_name(&path).to_string())
    }

    /// The variables of the object that an address lies in, and where that was loaded.
    fn globals_around(&mut self, address: u64) -> Option<(&Globals, u64)> {
        let (path, start) = self.object_around(address)?;
        let read = |path: &String| Globals::read(&std::fs::read(path).ok()?);
        let globals = self.globals.entry(path).or_insert_with_key(read);
        Some((globals.as_ref()?, start))
    }

    /// The number of a place in this process.
    #[must_use]
    pub fn number(&self, place: &Place) -> Option<PlaceNumber> {
        match place {
            Place::Code { object, offset } => {
                let is_it = |known: &LoadedObject| matches!(known, LoadedObject::Code { path, .. } if file_name(path) == object);
                let position = self.objects.iter().position(is_it)?;
                Some(PlaceNumber::new(u16::try_from(position).ok()?, *offset))
            }
            Place::Within { .. } => None,
            Place::Site(id) => (0u16..).zip(&self.objects).find_map(|(position, object)| {
                let LoadedObject::Sites { program, .. } = object else {
                    return None;
                };
                let site = self.model(program)?.site_number(*id)?;
                Some(PlaceNumber::new(position, site.index() as u64))
            }),
        }
    }

    /// A schedule in words that hold in other processes too.
    #[must_use]
    pub fn outward(&self, schedule: &Schedule<PlaceNumber>) -> Schedule {
        schedule.with_places(|number| Some(self.place(*number)))
    }

    /// A schedule in the numbers of this process. Segments that end at places
    /// unknown here lose their anchor.
    #[must_use]
    pub fn inward(&self, schedule: &Schedule) -> Schedule<PlaceNumber> {
        schedule.with_places(|place| self.number(place))
    }

    /// Whether a place lies in the program's own code rather than in what
    /// reports failures.
    #[must_use]
    pub fn is_own_code(&self, number: PlaceNumber) -> bool {
        match self.objects.get(usize::from(number.object())) {
            Some(LoadedObject::Code { path, .. }) => {
                let name = file_name(path);
                !MACHINERY
                    .iter()
                    .any(|machinery| name.starts_with(machinery))
            }
            Some(LoadedObject::Sites { .. }) => true,
            None => false,
        }
    }

    /// The function that a place lies in, where a model or a symbol tells it.
    pub fn function(&mut self, number: PlaceNumber) -> Option<FunctionId> {
        match self.lasting_place(number) {
            Place::Site(site) => Some(site.function),
            Place::Within { function, .. } => Some(function),
            Place::Code { .. } => None,
        }
    }

    /// The line of a place. `number` is where a call returns to, or a site.
    pub fn spot(&mut self, number: PlaceNumber) -> Spot {
        self.spots(number).into_iter().next().unwrap_or_default()
    }

    /// The line of a place, then the lines of the calls that the compiler put
    /// inline there, innermost first; at least one.
    pub fn spots(&mut self, number: PlaceNumber) -> Vec<Spot> {
        if let Some((model, site)) = self.site(number) {
            return spots_of_site(model, site);
        }
        match self.code_tables(number) {
            Some(tables) => spots_of_code(tables, number.offset()),
            None => vec![Spot::default()],
        }
    }
}

/// The name as its author wrote it, where the symbol alone was known. Functions that are
/// static may have none, and their names are no mangled types: `h` is not `unsigned char`.
fn demangled(name: String) -> String {
    let symbol = name.split('.').next().unwrap_or(&name);
    if !symbol.starts_with('_') {
        return name;
    }
    let written = |symbol: &str| addr2line::demangle_auto(symbol.into(), None).into_owned();
    let short = written(symbol);
    let whole = written(&name);
    // What follows a point is the compiler's, but for paths in Rust's names of types.
    match short == symbol && whole != name {
        true => whole,
        false => short,
    }
}

/// The id of a function that only its symbol tells about.
fn by_symbol(name: &str) -> FunctionId {
    let hash = blake3::hash(name.as_bytes());
    let first = hash.as_bytes().first_chunk().copied().unwrap_or_default();
    FunctionId(u64::from_le_bytes(first))
}

fn file_name(path: &str) -> &str {
    Path::new(path)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(path)
}

fn spots_of_site(model: &Program, site: SiteNumber) -> Vec<Spot> {
    let site = &model.sites[site];
    let mut next: Option<LocationNumber> = location_near(model, site);
    let mut spots = Vec::new();
    while let Some(number) = next {
        let location = &model.locations[number];
        let scope = &model.scopes[location.scope];
        let file = scope.file.expand();
        let file = file.map(|file| &model.texts[model.files[file].path]);
        spots.push(Spot {
            function: Some(model.texts[scope.name].to_string()),
            line: file.map(|file| format!("{file}:{}", location.line)),
        });
        next = location.inlined_at.expand();
    }
    if spots.is_empty() {
        let name = &model.texts[model.functions[site.function].name];
        spots.push(Spot {
            function: Some(name.to_string()),
            line: None,
        });
    }
    spots
}

/// Where a site stands in the source. Of what the compiler has moved it forgets that; then
/// it is where the instructions behind it stand, or those before.
fn location_near(model: &Program, site: &Site) -> Option<LocationNumber> {
    let body = model.functions[site.function].body.as_ref()?;
    let own = body.instructions[site.instruction].location.expand();
    own.or_else(|| {
        let block = body.block_of(site.instruction);
        let (before, behind): (Vec<_>, Vec<_>) =
            { body.block(block) }.partition(|(number, _)| *number < site.instruction);
        let near = behind.into_iter().chain(before.into_iter().rev());
        { near.filter_map(|(_, one)| one.location.expand()) }
            .next()
            .or_else(|| {
                body.blocks
                    .keys()
                    .find_map(|one| body.location_of_block(one))
            })
    })
}

/// The line tables and symbols of one object.
struct CodeTables {
    name: String,
    loader: Loader,
    symbols: Symbols,
    /// The lowest address that the object asks for: what offsets count from. 0
    /// unless the object is bound to a fixed address.
    base: u64,
}

impl CodeTables {
    fn load(path: &str) -> Option<CodeTables> {
        let bytes = std::fs::read(path).ok()?;
        let object = object::File::parse(&*bytes).ok()?;
        let lowest = object.segments().map(|segment| segment.address()).min()?;
        Some(CodeTables {
            name: file_name(path).to_string(),
            loader: Loader::new(path).ok()?,
            symbols: Symbols::of(&object),
            base: lowest,
        })
    }
}

/// A return address is behind its call, perhaps in the next line: look one back.
fn spots_of_code(tables: &CodeTables, offset: u64) -> Vec<Spot> {
    let loader = &tables.loader;
    let address = tables.base + offset.saturating_sub(1);
    let mut spots = Vec::new();
    if let Ok(mut frames) = loader.find_frames(address) {
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref();
            let name = name.and_then(|name| name.raw_name().ok());
            let line = frame.location.as_ref();
            spots.push(Spot {
                function: name.map(|name| demangled(name.into_owned())),
                line: line.and_then(|line| Some(format!("{}:{}", line.file?, line.line?))),
            });
        }
    }
    if spots.is_empty() {
        spots.push(Spot::default());
    }
    let outermost = spots.len() - 1;
    let last = &mut spots[outermost];
    if last.function.is_none() {
        last.function = {
            let symbol = loader.find_symbol(address);
            symbol.map(|name| demangled(name.to_string()))
        };
    }
    if last.line.is_none() {
        last.line = Some(format!("{}+{offset:#x}", tables.name));
    }
    spots
}

#[cfg(test)]
mod tests {
    use super::demangled;

    #[test]
    fn names_are_told_as_they_were_written() {
        for (symbol, name) in [
            ("h", "h"),
            ("counter.3", "counter.3"),
            ("_ZL5countv", "count()"),
            ("_ZL5countv.isra.0", "count()"),
            (
                "_ZN4core3ptr48drop_in_place$LT$alloc..boxed..Box$LT$u8$GT$$GT$17h0123456789abcdefE",
                "core::ptr::drop_in_place<alloc::boxed::Box<u8>>",
            ),
        ] {
            assert_eq!(demangled(symbol.to_string()), name);
        }
    }
}
