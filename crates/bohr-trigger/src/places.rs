//! Where places are in a program: from names to sites and back.

use crate::error::PlaceError;
use crate::expression::Place;
use bohr_program::{FunctionNumber, LocationNumber, Owner, Program, SiteNumber};
use cranelift_entity::EntityRef;
use std::collections::{BTreeMap, BTreeSet};

/// Suggestions that are made at most.
const SUGGESTIONS: usize = 4;

/// One of the places to which the compiler has put code of the author's: a function
/// of the program, and where in it the code was put inline, if it was.
type Copy = (FunctionNumber, Option<LocationNumber>);

/// The sites of each copy, ascending.
type Copies = BTreeMap<Copy, Vec<u32>>;

/// The sites of a program at which threads can be held up.
pub struct Places<'a> {
    program: &'a Program,
    /// By file and line.
    lines: BTreeMap<(&'a str, u32), Copies>,
    /// By function of the source.
    functions: BTreeMap<&'a str, Copies>,
}

/// A frame of a site: the function and the line that the author wrote.
struct Frame<'a> {
    function: &'a str,
    file: Option<&'a str>,
    line: u32,
    /// Where the function was put inline.
    inlined_at: Option<LocationNumber>,
}

impl Frame<'_> {
    fn is_own(&self) -> bool {
        self.file.is_some_and(|file| !is_library(file))
    }
}

impl<'a> Places<'a> {
    /// Of the sites of a program that have a hook.
    #[must_use]
    pub fn new(program: &'a Program, hooked: &BTreeSet<u32>) -> Places<'a> {
        let mut places = Places {
            program,
            lines: BTreeMap::new(),
            functions: BTreeMap::new(),
        };
        for site in hooked {
            places.add(*site);
        }
        places
    }

    fn add(&mut self, site: u32) {
        let Some(known) = self.program.site(SiteNumber::new(site as usize)) else {
            return;
        };
        let function = known.function;
        for frame in frames(self.program, site) {
            let copy = (function, frame.inlined_at);
            let sites = self.functions.entry(frame.function).or_default();
            push(sites.entry(copy).or_default(), site);
            // What the compiler made by itself has line 0.
            if let Some(file) = frame.file.filter(|_| frame.line > 0) {
                let sites = self.lines.entry((file, frame.line)).or_default();
                push(sites.entry(copy).or_default(), site);
            }
        }
    }

    /// The sites of a place: one for every copy of it.
    ///
    /// # Errors
    /// If there is none, with what may have been meant.
    pub fn find(&self, place: &Place) -> Result<Vec<u32>, PlaceError> {
        let (copies, number) = match place {
            Place::Line { file, line, site } => (self.copies_of_line(file, *line)?, *site),
            Place::Function { name, site } => (self.copies_of_function(name)?, *site),
        };
        let sites: Vec<u32> = copies
            .iter()
            .filter_map(|copy| copy.get(number as usize - 1).copied())
            .collect();
        match sites.is_empty() {
            false => Ok(sites),
            true => {
                let count = copies.iter().map(|copy| copy.len()).max().unwrap_or(0) as u32;
                Err(PlaceError::NoSuchSite {
                    place: place.to_string(),
                    count,
                    nearest: place.with_site(count).to_string(),
                })
            }
        }
    }

    fn copies_of_line(&self, file: &str, line: u32) -> Result<Vec<&Vec<u32>>, PlaceError> {
        // Either may be written from another folder.
        let is_it = |path: &str| {
            path == file
                || path.ends_with(&format!("/{file}"))
                || file.ends_with(&format!("/{path}"))
        };
        let in_file = self.lines.iter().filter(|((path, _), _)| is_it(path));
        let copies: Vec<&Vec<u32>> = in_file
            .clone()
            .filter(|((_, number), _)| *number == line)
            .flat_map(|(_, copies)| copies.values())
            .collect();
        if !copies.is_empty() {
            return Ok(copies);
        }
        let mut near: Vec<u32> = in_file.map(|((_, number), _)| *number).collect();
        near.sort_by_key(|number| number.abs_diff(line));
        near.dedup();
        if near.is_empty() {
            return Err(PlaceError::UnknownFile {
                file: file.to_string(),
                known: self.own_files().into_iter().take(SUGGESTIONS * 2).collect(),
            });
        }
        near.truncate(SUGGESTIONS);
        near.sort_unstable();
        Err(PlaceError::NoCode {
            file: file.to_string(),
            line,
            nearest: near
                .iter()
                .map(|number| format!("{file}:{number}"))
                .collect(),
        })
    }

    fn copies_of_function(&self, name: &str) -> Result<Vec<&Vec<u32>>, PlaceError> {
        let wanted = last_part(name);
        let same = self
            .functions
            .iter()
            .filter(|(function, _)| last_part(function) == wanted);
        let copies = same.flat_map(|(_, copies)| copies.iter());
        // Symbols hold the parts of their names, however they are mangled.
        let fits = |function: FunctionNumber| {
            let symbol = &self.program.texts[self.program.functions[function].symbol];
            name.split("::").all(|part| symbol.contains(part))
        };
        let all: Vec<_> = copies.collect();
        let mut fitting: Vec<&Vec<u32>> = all
            .iter()
            .filter(|((function, _), _)| fits(*function))
            .map(|(_, sites)| *sites)
            .collect();
        if fitting.is_empty() {
            fitting = all.iter().map(|(_, sites)| *sites).collect();
        }
        match fitting.is_empty() {
            false => Ok(fitting),
            true => Err(PlaceError::UnknownFunction {
                name: name.to_string(),
                similar: similar(name, self.functions.keys().copied()),
            }),
        }
    }

    /// Files that were not installed with the system or the compiler.
    #[must_use]
    pub fn own_files(&self) -> Vec<String> {
        let files = self.lines.keys().map(|(file, _)| *file);
        let own: BTreeSet<&str> = files.filter(|file| !is_library(file)).collect();
        own.into_iter().map(str::to_string).collect()
    }

    /// Folders that names of the program's own files are relative to.
    #[must_use]
    pub fn own_folders(&self) -> BTreeSet<&'a str> {
        let files = self.program.files.values();
        let own = files.filter(|file| !is_library(&self.program.texts[file.path]));
        own.map(|file| &self.program.texts[file.directory])
            .collect()
    }

    /// The name of a site, in the author's own lines if it can be, in a
    /// library's if not, by its function if the compiler gave it no line; `None`
    /// for a site of which nothing is known.
    #[must_use]
    pub fn name(&self, site: u32) -> Option<Place> {
        // The innermost line of the author's, or the line of the library that is
        // the least likely to be in other functions as well: the outermost.
        let frame = frames(self.program, site).find(Frame::is_own);
        let frame = frame.or_else(|| frames(self.program, site).last())?;
        self.name_in(site, &frame)
    }

    /// All names of a site in the author's own lines, the innermost first: the line
    /// that it stands in, and those of the calls through which it was put inline.
    /// Every name has fewer sites than the one before.
    #[must_use]
    pub fn own_names(&self, site: u32) -> Vec<Place> {
        let mut names: Vec<Place> = Vec::new();
        let mut fewest = usize::MAX;
        for frame in frames(self.program, site).filter(Frame::is_own) {
            let Some(name) = self.name_in(site, &frame) else {
                continue;
            };
            let sites = self.find(&name).map_or(usize::MAX, |sites| sites.len());
            if sites < fewest {
                names.push(name);
                fewest = sites;
            }
        }
        names
    }

    fn name_in(&self, site: u32, frame: &Frame<'_>) -> Option<Place> {
        let function = self.program.site(SiteNumber::new(site as usize))?.function;
        let copy = (function, frame.inlined_at);
        let position = |sites: &Vec<u32>| {
            let position = sites.iter().position(|known| *known == site);
            position.map(|position| position as u32 + 1)
        };
        if frame.line == 0 {
            let sites = self.functions.get(frame.function)?.get(&copy)?;
            return Some(Place::Function {
                name: frame.function.to_string(),
                site: position(sites)?,
            });
        }
        let file = frame.file?;
        let sites = self.lines.get(&(file, frame.line))?.get(&copy)?;
        Some(Place::Line {
            file: file.to_string(),
            line: frame.line,
            site: position(sites)?,
        })
    }
}

fn push(sites: &mut Vec<u32>, site: u32) {
    if sites.last() != Some(&site) {
        sites.push(site);
    }
}

/// The frames of a site, the innermost first.
fn frames(program: &Program, site: u32) -> impl Iterator<Item = Frame<'_>> {
    let site = program.site(SiteNumber::new(site as usize));
    let mut next: Option<LocationNumber> =
        site.and_then(|site| program.instruction_of(site).location.expand());
    std::iter::from_fn(move || {
        let location = &program.locations[next?];
        let scope = &program.scopes[location.scope];
        next = location.inlined_at.expand();
        let file = scope.file.expand();
        Some(Frame {
            function: &program.texts[scope.name],
            file: file.map(|file| &program.texts[program.files[file].path]),
            line: location.line,
            inlined_at: next,
        })
    })
}

/// Whether a file belongs to somebody else: to the system, to the language, or to a
/// package that cargo has fetched. Nobody puts breakpoints there.
#[must_use]
pub fn is_library(file: &str) -> bool {
    Owner::of_file(file) != Owner::Program
}

fn last_part(name: &str) -> &str {
    let name = name.split('<').next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

/// Names that share most of their letters with this one, the best first.
pub(crate) fn similar<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Vec<String> {
    let wanted = last_part(name);
    let mut ranked: Vec<(usize, &str)> = known
        .map(|other| (distance(wanted, last_part(other)), other))
        .filter(|(far, other)| *far <= 1 + last_part(other).len().max(wanted.len()) / 3)
        .collect();
    ranked.sort();
    ranked.dedup();
    let best = ranked.into_iter().take(SUGGESTIONS);
    best.map(|(_, other)| other.to_string()).collect()
}

/// Letters to add, leave out or change (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (position, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = position + 1;
        for (column, same) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *same);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_found() {
        assert_eq!(distance("evict", "evcit"), 2);
        assert_eq!(distance("", "abc"), 3);
        let known = ["evict_all", "insert", "evict"];
        assert_eq!(similar("evcit", known.into_iter()), ["evict"]);
        // The nearest first.
        let found = similar("Cache::evict", known.into_iter());
        assert_eq!(found, ["evict", "evict_all"]);
    }
}
