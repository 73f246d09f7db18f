//! Names of objects on heap and stack. Nobody records what was put where; but
//! every access tells, by the types of the source, what kind of object it found
//! at an address. What one access tells holds for all others that touch the same
//! object, and for the locks in it.

mod calls;

use bohr_event::EventKind;
use bohr_program::{
    Evidence, Language, Layouts, Libraries, Origin, Program, SiteNumber, SourceType,
    SourceTypeNumber,
};
use calls::Calls;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A type that an object was seen to have.
#[derive(Clone, PartialEq, Eq)]
struct Seen {
    /// Position of its program.
    program: usize,
    of: SourceTypeNumber,
    language: Language,
}

/// The objects of a run, by address.
#[derive(Default)]
pub struct Objects {
    libraries: Libraries,
    programs: Vec<(Arc<Program>, Layouts)>,
    /// By the address that they begin at.
    seen: BTreeMap<u64, Vec<Seen>>,
    /// Size of the largest.
    largest: u64,
    evidence: HashMap<(usize, SiteNumber), Vec<Evidence>>,
    /// Addresses that a field points to, or that were accessed through one, with its
    /// name.
    pointed: BTreeMap<u64, String>,
    /// By position of the program.
    calls: HashMap<usize, Calls>,
}

/// An object, and what a byte of it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// Type and field: `Floor::waiting`, or in C `floor.waiting`.
    pub name: String,
    /// Where the object begins and how large it is, if it is a structure.
    pub object: Option<(u64, u64)>,
    /// Whether it may be any of several that are called so.
    pub is_vague: bool,
}

/// Fields inside fields that are looked at.
const DEEPEST: usize = 32;

impl Objects {
    /// None yet; types of these libraries have no names of their own.
    #[must_use]
    pub fn beside(libraries: Libraries) -> Objects {
        Objects {
            libraries,
            ..Objects::default()
        }
    }

    /// Takes in that a site accessed an address.
    pub fn learn(&mut self, program: &Arc<Program>, site: SiteNumber, address: u64) {
        let program = self.program(program);
        let language = self.language(program, site);
        for evidence in self.evidence(program, site).to_vec() {
            self.take_in(program, language, &evidence, address);
            if matches!(evidence.from, Origin::Field(..))
                && let Some(found) = self.by_origin(program, site, &evidence)
            {
                self.pointed.insert(address, found.name);
            }
        }
    }

    /// Takes in that an access of an address read or wrote this value: if a field of
    /// the author's own is there, that is what leads to whatever the value points to.
    pub fn learn_pointer(
        &mut self,
        site: Option<(&Arc<Program>, SiteNumber)>,
        address: u64,
        value: u64,
    ) {
        let found = self.name(site, address);
        if let Some(field) = found.filter(|found| found.object.is_some()) {
            let pointed = self.pointed.entry(value);
            pointed.or_insert_with(|| format!("{}[…]", field.name));
        }
    }

    /// Takes in that memory has been allocated: what was there before is gone.
    pub fn forget(&mut self, memory: std::ops::Range<u64>) {
        let gone: Vec<u64> = self.seen.range(memory.clone()).map(|one| *one.0).collect();
        for start in gone {
            self.seen.remove(&start);
        }
        let gone: Vec<u64> = self.pointed.range(memory).map(|one| *one.0).collect();
        for start in gone {
            self.pointed.remove(&start);
        }
    }

    /// Takes in that a call that is compiled to this line, innermost first, with
    /// the lines it was put inline at, did this to an address that it was given.
    pub fn learn_call(
        &mut self,
        program: &Arc<Program>,
        lines: &[String],
        kind: EventKind,
        address: u64,
    ) {
        let program = self.program(program);
        let (model, layouts) = &self.programs[program];
        let calls = self
            .calls
            .entry(program)
            .or_insert_with(|| Calls::of(model));
        let told: Vec<(Language, Evidence)> = calls
            .at(lines)
            .flat_map(|(function, instruction)| {
                let evidence = model.evidence_of_argument(layouts, function, instruction, kind);
                let language = model.language(function);
                evidence.into_iter().map(move |one| (language, one))
            })
            .collect();
        for (language, evidence) in told {
            self.take_in(program, language, &evidence, address);
        }
    }

    fn take_in(&mut self, program: usize, language: Language, evidence: &Evidence, address: u64) {
        let (of, start) = (evidence.of, address.wrapping_sub(evidence.offset));
        let size = self.programs[program].0.source_size(of);
        self.largest = self.largest.max(size);
        let known = self.seen.entry(start).or_default();
        let seen = Seen {
            program,
            of,
            language,
        };
        if !known.contains(&seen) {
            known.push(seen);
        }
    }

    /// The name of what is at an address; `site` is who accesses it, if it is known.
    pub fn name(
        &mut self,
        site: Option<(&Arc<Program>, SiteNumber)>,
        address: u64,
    ) -> Option<ObjectName> {
        let own = site.map(|(program, site)| {
            let program = self.program(program);
            (program, site, self.evidence(program, site).to_vec())
        });
        // What the access itself says goes before what others say.
        let told = own.iter().flat_map(|(program, site, evidence)| {
            let language = self.language(*program, *site);
            let seen = move |evidence: &Evidence| {
                let seen = Seen {
                    program: *program,
                    of: evidence.of,
                    language,
                };
                (address.wrapping_sub(evidence.offset), seen)
            };
            evidence.iter().rev().map(seen)
        });
        let candidates: Vec<(u64, Seen)> = told.chain(self.around(address)).collect();
        let named = candidates
            .iter()
            .find_map(|(start, seen)| self.field(*start, seen, address));
        named.or_else(|| {
            let (program, site, evidence) = own.as_ref()?;
            let origins = evidence.iter().rev();
            let mut named = origins.map(|origin| self.by_origin(*program, *site, origin));
            named.find(Option::is_some)?
        })
    }

    /// The name of the pointer by which some access got into this memory.
    #[must_use]
    pub fn pointer_into(&self, memory: std::ops::Range<u64>) -> Option<&str> {
        let first = self.pointed.range(memory).next();
        first.map(|(_, name)| name.as_str())
    }

    /// Whether an address lies in a lock of a library, and not in the
    /// data that some of them hold.
    #[must_use]
    pub fn is_lock(&self, address: u64) -> bool {
        let around = self.around(address);
        around.iter().any(|(start, seen)| {
            let program = &self.programs[seen.program].0;
            self.is_in_lock(program, seen.of, address - start)
        })
    }

    /// The objects around an address, the largest first.
    fn around(&self, address: u64) -> Vec<(u64, Seen)> {
        let first = address.saturating_sub(self.largest);
        let starts = self.seen.range(first..=address);
        let mut found: Vec<(u64, u64, Seen)> = starts
            .flat_map(|(start, all)| all.iter().map(move |seen| (*start, seen)))
            .map(|(start, seen)| (self.size(seen), start, seen.clone()))
            .filter(|(size, start, _)| address - start < *size)
            .collect();
        found.sort_by_key(|(size, start, _)| (std::cmp::Reverse(*size), *start));
        let found = found.into_iter();
        found.map(|(_, start, seen)| (start, seen)).collect()
    }

    fn size(&self, seen: &Seen) -> u64 {
        self.programs[seen.program].0.source_size(seen.of)
    }

    /// The field at an address, if the author's own types name one.
    fn field(&self, start: u64, seen: &Seen, address: u64) -> Option<ObjectName> {
        let program = &self.programs[seen.program].0;
        let name = self.field_name(program, seen.of, address - start, seen.language)?;
        Some(ObjectName {
            name,
            object: Some((start, self.size(seen))),
            is_vague: false,
        })
    }

    /// The pointer or variable by which an access got there.
    fn by_origin(
        &self,
        program: usize,
        site: SiteNumber,
        evidence: &Evidence,
    ) -> Option<ObjectName> {
        let language = self.language(program, site);
        let program = &self.programs[program].0;
        let name = match evidence.from {
            // The variables of a library say nothing to its user.
            Origin::Variable(name) | Origin::Pointer(name) | Origin::Element(name, _)
                if program.texts[name].starts_with("__")
                    || matches!(&program.texts[name], "" | "this" | "self") =>
            {
                return None;
            }
            Origin::Called => return None,
            Origin::Variable(name) => program.texts[name].to_string(),
            Origin::Element(name, Some(index)) => format!("{}[{index}]", &program.texts[name]),
            Origin::Element(name, None) => format!("{}[…]", &program.texts[name]),
            Origin::Pointer(name) => format!("*{}", &program.texts[name]),
            Origin::Field(of, offset) => {
                let name = self.field_name(program, of, offset, language)?;
                match refers(program, of, offset) {
                    true => name,
                    false => format!("{name}[…]"),
                }
            }
        };
        Some(ObjectName {
            name,
            object: None,
            is_vague: matches!(evidence.from, Origin::Element(_, None)),
        })
    }

    fn program(&mut self, program: &Arc<Program>) -> usize {
        let known = |(other, _): &(Arc<Program>, _)| Arc::ptr_eq(other, program);
        self.programs.iter().position(known).unwrap_or_else(|| {
            self.programs.push((program.clone(), program.layouts()));
            self.programs.len() - 1
        })
    }

    fn evidence(&mut self, program: usize, site: SiteNumber) -> &[Evidence] {
        let (model, layouts) = &self.programs[program];
        let known = self.evidence.entry((program, site));
        known.or_insert_with(|| model.evidence(layouts, site))
    }

    fn language(&self, program: usize, site: SiteNumber) -> Language {
        let program = &self.programs[program].0;
        program.language(program.sites[site].function)
    }
}

/// What the names of types begin with that the compiler makes up, for what closures
/// have captured.
const MADE_UP: char = '{';

/// What Rust puts before the name of a variable that a closure has captured by reference.
const CAPTURED: &str = "_ref__";

/// Whether a field goes by the name of what it points to: a reference, or what a
/// closure has captured as one.
fn refers(program: &Program, of: SourceTypeNumber, offset: u64) -> bool {
    let field = program.source_field(of, offset);
    let captured = field.is_some_and(|field| program.texts[field.name].starts_with(CAPTURED));
    let leaf = program.source_leaf(of, offset);
    let leaf = leaf.map(|leaf| &program.source_types[leaf]);
    captured || matches!(leaf, Some(SourceType::Pointer { refers: true, .. }))
}

/// What the libraries call their locks, and the fields in them that hold data.
const LOCKS: [&str; 12] = [
    "Mutex",
    "RwLock",
    "Condvar",
    "Once",
    "Parker",
    "Barrier",
    "mutex",
    // Of packages.
    "FairMutex",
    "ReentrantMutex",
    "SpinMutex",
    "TicketMutex",
    "ShardedLock",
];
const DATA_FIELDS: [&str; 2] = ["data", "value"];

impl Objects {
    fn is_in_lock(&self, program: &Program, of: SourceTypeNumber, offset: u64) -> bool {
        let (mut of, mut offset) = (of, offset);
        let mut inside = false;
        for _ in 0..DEEPEST {
            if let SourceType::Structure { name, owner, .. } = &program.source_types[of] {
                let name = &program.texts[*name];
                let own = name.split('<').next().unwrap_or(name);
                let is_lock = self.libraries.include(*owner) && LOCKS.contains(&own);
                let field = program.source_field(of, offset);
                let field = field.map_or("", |field| &program.texts[field.name]);
                // What a lock holds is data again, until the next lock.
                inside = (inside || is_lock) && !(is_lock && DATA_FIELDS.contains(&field));
            }
            let Some(part) = program.source_part(of, offset) else {
                break;
            };
            (of, offset) = part;
        }
        inside
    }

    /// The innermost field at an offset that a type of the author's own has, with the
    /// name of that type. Fields of the library's types inside it say nothing more.
    fn field_name(
        &self,
        program: &Program,
        of: SourceTypeNumber,
        offset: u64,
        language: Language,
    ) -> Option<String> {
        let (mut of, mut offset) = (of, offset);
        let mut best = None;
        // Elements of arrays between the last field and what is looked at.
        let mut inside_best = false;
        for _ in 0..DEEPEST {
            match &program.source_types[of] {
                SourceType::Structure { name, owner, .. } => {
                    let Some(field) = program.source_field(of, offset) else {
                        break;
                    };
                    let library = self.libraries.include(*owner);
                    let (owner, text) = (&program.texts[*name], &program.texts[field.name]);
                    let text = text.strip_prefix(CAPTURED).unwrap_or(text);
                    // Closures of C++ have types without names.
                    let is_closure = match language {
                        Language::Cpp => owner.is_empty() && best.is_none(),
                        _ => owner.starts_with(MADE_UP),
                    };
                    let is_named = is_closure || !owner.is_empty();
                    inside_best = !library && is_named && !text.is_empty();
                    if inside_best {
                        let between = if language == Language::C { "." } else { "::" };
                        best = Some(match is_closure {
                            true => text.to_string(),
                            false => format!("{owner}{between}{text}"),
                        });
                    }
                    (of, offset) = (field.of, offset - field.offset);
                }
                SourceType::Array { element, .. } => {
                    let size = program.source_size(*element);
                    if size == 0 {
                        break;
                    }
                    if let Some(best) = best.as_mut().filter(|_| inside_best) {
                        best.push_str(&format!("[{}]", offset / size));
                    }
                    (of, offset) = (*element, offset % size);
                }
                SourceType::Plain { .. } | SourceType::Pointer { .. } => break,
            }
        }
        best
    }
}

#[cfg(test)]
mod tests;
