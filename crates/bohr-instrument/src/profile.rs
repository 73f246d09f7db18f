//! Makes a profile: from a program with a bundle to the model, the instrumented
//! program and the report.

use crate::diagnostics::Diagnostics;
use crate::gates::{self, Numbered};
use crate::generate::GenerateError;
use crate::hooks::{self, HookCount, Unhooked};
use crate::internalise::assembly_of_call;
use crate::level::Level;
use crate::merge::{self, Excluded, MergeError, Part, merge_wrapped, target_machine};
use crate::outside::Outside;
use crate::partition::Cut;
use crate::relink::{self, Objects, RelinkError, relink};
use crate::report::{Assembly, Clock, Report, Uninstrumented, peak_memory};
use crate::sites::{ModuleSites, SiteNumber};
use crate::tables::{self, Tables};
use crate::wrap::Wrapping;
use crate::{emit, generate, ids, level, library, lower, order, paths, points, production};
use bohr_bundle::{
    Bundle, BundleError, Content, Language, LinkLine, NativeReason, OutputKind, PartId,
};
use bohr_event::{Diagnosis, Fault, abi};
use bohr_program::{Gates, MARK, Program, Reason, Sharing, Verdict, skippable_calls};
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::LLVMContextSetDiscardValueNames;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::module::Module;
use inkwell::targets::RelocMode;
use inkwell::values::AsValueRef;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Which sites get a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookChoice {
    /// Accesses that may be shared between threads, and synchronising calls.
    Shared,
    /// Every access that can leave its function, and every synchronising call.
    All,
    /// None; threads write down the way they go.
    Paths,
    /// None; threads write down in which order they come by what may be shared.
    Order,
    /// None, and no model: what the same pipeline makes of the plain program.
    None,
    /// None: the program for production, with what makes its cores readable.
    Production,
    /// The same, with a counter of the blocks that each thread begins.
    CountedProduction,
    /// As [`HookChoice::Shared`], and one at every point of the control flow.
    Points,
}

impl HookChoice {
    /// Whether the program is one for users, loaded wherever their own would be.
    fn is_production(self) -> bool {
        matches!(self, HookChoice::Production | HookChoice::CountedProduction)
    }
}

/// What to make, and where.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// A program with a bundle.
    pub program: &'a Path,
    /// Takes `model`, `sharing`, `program` and `report.json`.
    pub directory: &'a Path,
    /// Which sites get a hook.
    pub hooks: HookChoice,
    /// The name by which programs ask for a shared library, where that is not its own.
    pub asked_for: Option<&'a str>,
}

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program has no bundle, or a damaged one.
    #[error("{}: {source}", path.display())]
    Bundle {
        /// The program.
        path: PathBuf,
        /// What is wrong.
        source: BundleError,
    },
    /// There is nothing in the bundle that could be instrumented.
    #[error("{}: no part of the program has bitcode{}", path.display(), why(parts))]
    NothingToInstrument {
        /// The program.
        path: PathBuf,
        /// Its parts, and why they have none.
        parts: Vec<Uninstrumented>,
    },
    /// The parts do not go together.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// The instrumented program does not link.
    #[error(transparent)]
    Relink(#[from] RelinkError),
    /// LLVM refused our code.
    #[error("{step} failed, which is a bug in bohr: {message}")]
    Llvm {
        /// What was done.
        step: &'static str,
        /// What LLVM said.
        message: String,
    },
}

/// The first few reasons.
fn why(parts: &[Uninstrumented]) -> String {
    let told = parts.iter().take(3).map(|part| format!("; {part}"));
    told.collect()
}

impl From<GenerateError> for ProfileError {
    fn from(GenerateError { step, message }: GenerateError) -> ProfileError {
        ProfileError::Llvm { step, message }
    }
}

impl Diagnosis for ProfileError {
    fn fault(&self) -> Fault {
        match self {
            ProfileError::File { .. } | ProfileError::Bundle { .. } => Fault::Input,
            ProfileError::Merge(MergeError::Unreadable { .. }) => Fault::Input,
            ProfileError::Merge(MergeError::ForeignTarget { .. }) => Fault::Unsupported,
            ProfileError::NothingToInstrument { .. } => Fault::Unsupported,
            ProfileError::Relink(RelinkError::File { .. } | RelinkError::NoLinker) => Fault::Input,
            ProfileError::Relink(RelinkError::Bundle(_)) => Fault::Input,
            _ => Fault::Internal,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            ProfileError::Bundle { .. } | ProfileError::NothingToInstrument { .. } => {
                "build the program with `bohr cc`, `bohr c++` or `bohr cargo`"
            }
            ProfileError::Merge(MergeError::Unreadable { .. }) => "build the program again",
            ProfileError::Relink(RelinkError::NoLinker) => "apt-get install lld-22",
            _ => return None,
        };
        Some(help.to_string())
    }
}

/// The bitcode of a bundle, unpacked.
struct Bitcode {
    ids: Vec<PartId>,
    names: Vec<String>,
    languages: Vec<Option<Language>>,
    bytes: Vec<Vec<u8>>,
}

impl Bitcode {
    fn of(bundle: &Bundle<'_>) -> Result<Bitcode, BundleError> {
        let mut bitcode = Bitcode {
            ids: vec![],
            names: vec![],
            languages: vec![],
            bytes: vec![],
        };
        for (id, part) in bundle.numbered_parts() {
            if part.content == Content::Bitcode {
                bitcode.ids.push(id);
                bitcode.names.push(part.origin.to_string());
                bitcode.languages.push(part.language);
                bitcode.bytes.push(bundle.contents(id)?);
            }
        }
        Ok(bitcode)
    }

    fn parts(&self) -> Vec<Part<'_>> {
        (0..self.ids.len()).map(|at| self.part(at)).collect()
    }

    fn part(&self, at: usize) -> Part<'_> {
        Part {
            name: &self.names[at],
            bitcode: &self.bytes[at],
            language: self.languages[at],
        }
    }
}

/// Makes a profile.
///
/// # Errors
/// If the program has no sound bundle, or cannot be linked again.
pub fn make(request: &Request<'_>) -> Result<Report, ProfileError> {
    let mut clock = Clock::default();
    let mut report = Report {
        profile: match request.hooks {
            HookChoice::Paths => "path".into(),
            HookChoice::Order => "order".into(),
            _ => "control".into(),
        },
        ..Report::default()
    };
    let program = read(request.program)?;
    let at_program = |source| ProfileError::Bundle {
        path: request.program.into(),
        source,
    };
    let bundle = Bundle::in_program(&program).map_err(at_program)?;
    let bitcode = Bitcode::of(&bundle).map_err(at_program)?;
    if bitcode.ids.is_empty() {
        return Err(ProfileError::NothingToInstrument {
            path: request.program.into(),
            parts: native_parts(&bundle),
        });
    }
    let outside = Outside::of(&bundle, &program).map_err(at_program)?;
    report.uninstrumented = native_parts(&bundle);
    report.seconds.insert("read", clock.step());

    let context = Context::create();
    // SAFETY: a fresh context; local names are of no use to anyone here.
    unsafe { LLVMContextSetDiscardValueNames((&context).as_ctx_ref(), 1) };
    let merged = merge_wrapped(
        &context,
        &bitcode.parts(),
        &|name| outside.needs(name),
        &Wrapping::of(&bundle),
    )?;
    let name = library::name(bundle.link());
    if let Some(name) = &name {
        ids::name_library(&context, &merged.module, name);
    }
    let sites = ModuleSites::of(&merged.module);
    report.functions = sites.functions.len() as u32;
    report.sites = sites.count();
    report.inline_assembly = inline_assembly(&sites);
    report.seconds.insert("merge", clock.step());

    let fixed = !request.hooks.is_production();
    let relocation = relocation(bundle.link(), fixed);
    if request.hooks == HookChoice::Paths {
        let program = lower_to_model(request, &merged.module, &sites, &bundle, &mut report)?;
        report.seconds.insert("model", clock.step());
        let numbered = Numbered::of(&sites);
        let machine =
            target_machine(relocation, Level::Default).map_err(llvm("finding the machine"))?;
        paths::insert(&context, &merged.module, numbered, &program, &machine)
            .map_err(llvm("adding paths"))?;
    } else if request.hooks.is_production() {
        let program = lower_to_model(request, &merged.module, &sites, &bundle, &mut report)?;
        report.seconds.insert("model", clock.step());
        report.profile = "production".into();
        let numbered = Numbered::of(&sites);
        let counts = request.hooks == HookChoice::CountedProduction;
        report.production =
            production::insert(&context, &merged.module, &program, numbered, counts);
    } else if request.hooks != HookChoice::None {
        let program = lower_to_model(request, &merged.module, &sites, &bundle, &mut report)?;
        report.seconds.insert("model", clock.step());
        let sharing = Sharing::of(&program);
        let kept = request.directory.join("sharing");
        write(&kept, &sharing.to_bytes(&program))?;
        report.seconds.insert("sharing", clock.step());
        let all = request.hooks == HookChoice::All;
        let private = |site: SiteNumber| privacy(&sharing, site).filter(|_| !all);
        let numbered = Numbered::of(&sites);
        let order = request.hooks == HookChoice::Order;
        let count = match order {
            true => order::insert(&context, &merged.module, &sites, &private),
            false => hooks::insert(&context, &sites, &private),
        };
        take_count(&mut report, &count);
        report.seconds.insert("hooks", clock.step());
        if order {
            // What is left out and where a block begins is no concern of a real run.
        } else if request.hooks == HookChoice::Points {
            report.profile = "alignment".into();
            points::insert(&context, &merged.module, &program, &numbered);
        } else {
            let gates = Gates::of(&program, &sharing);
            let calls = skippable_calls(&program);
            let inserted = gates::insert(&context, &merged.module, numbered, &gates, &calls);
            inserted.map_err(llvm("adding gates"))?;
            (report.gates, report.ungated) = gates::reported(&program, &gates);
            report.calls = gates::reported_calls(&program, &calls);
        }
    }
    let tables = match request.hooks {
        HookChoice::Paths => paths::assembly(&bundle.hash().0),
        HookChoice::Order => order::assembly(&bundle.hash().0),
        _ => tables::assembly(&Tables {
            program: bundle.hash().0,
            sites: sites.infos().collect(),
            gates: report.gates.len() as u32,
            vectors: emit::vectors(&merged.module),
            profile: match request.hooks {
                HookChoice::Points => abi::Profile::Alignment,
                _ => abi::Profile::Control,
            },
        }),
    };
    report.seconds.insert("gates", clock.step());

    drop(sites);
    let alone = compile_alone(
        &context,
        &merged.excluded,
        &bitcode,
        relocation,
        &mut report,
    )?;
    let diagnostics = Diagnostics::collect(&context);
    merged
        .module
        .verify()
        .map_err(|message| llvm("inserting hooks")(message.to_string()))?;
    let last = match request.hooks.is_production() {
        false => Some(assemble(&context, &tables, relocation, &diagnostics)),
        // A program without the C library's shared object has no `dlsym`.
        true if bundle.link().options.fixed => None,
        true => Some(production::threads::object(relocation)),
    };
    let last = last.transpose().map_err(llvm("writing the tables"))?;
    let mut instrumented =
        generate::objects(merged.module, relocation, Cut::default(), &diagnostics)?;
    instrumented.extend(last);
    report.seconds.insert("code", clock.step());

    let scratch =
        tempfile::tempdir_in(request.directory).map_err(file("use", request.directory))?;
    let objects = Objects {
        instrumented,
        alone,
    };
    let output = request.directory.join("program");
    let soname = match request.hooks.is_production() {
        true => bundle.link().options.soname.clone(),
        false => request.asked_for.map(str::to_string).or(name),
    };
    let options = relink::Options {
        fixed,
        soname: soname.as_deref(),
    };
    report.stubs = relink(&bundle, &objects, options, scratch.path(), &output)?.stubs;
    report.seconds.insert("link", clock.step());
    report.peak_memory = peak_memory();
    let text = serde_json::to_string_pretty(&report).unwrap_or_default();
    write(&request.directory.join("report.json"), text.as_bytes())?;
    Ok(report)
}

fn read(path: &Path) -> Result<Vec<u8>, ProfileError> {
    fs::read(path).map_err(file("read", path))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ProfileError> {
    fs::write(path, bytes).map_err(file("write", path))
}

fn file<'path>(
    action: &'static str,
    path: &'path Path,
) -> impl FnOnce(io::Error) -> ProfileError + use<'path> {
    move |source| ProfileError::File {
        action,
        path: path.into(),
        source,
    }
}

/// Parts without bitcode that are the user's; start files are everybody's.
fn native_parts(bundle: &Bundle<'_>) -> Vec<Uninstrumented> {
    bundle
        .parts()
        .iter()
        .filter_map(|part| match part.content {
            Content::Native(reason) if reason != NativeReason::Toolchain => Some(Uninstrumented {
                part: part.origin.to_string(),
                reason: reason.to_string(),
            }),
            _ => None,
        })
        .collect()
}

fn inline_assembly(sites: &ModuleSites<'_>) -> Vec<Assembly> {
    sites
        .functions
        .iter()
        .filter_map(|function| {
            let instructions = function
                .function
                .get_basic_block_iter()
                .flat_map(|block| block.get_instructions());
            let count = instructions
                .filter(|instruction| is_assembly(instruction.as_value_ref()))
                .count();
            let name = function.function.get_name().to_string_lossy().into_owned();
            (count > 0).then_some(Assembly {
                function: name,
                count: count as u32,
            })
        })
        .collect()
}

/// Assembly of the user; marks are bohr's.
fn is_assembly(instruction: LLVMValueRef) -> bool {
    !assembly_of_call(instruction).is_empty() && !assembly_of_call(instruction).contains(MARK)
}

fn lower_to_model(
    request: &Request<'_>,
    module: &Module<'_>,
    sites: &ModuleSites<'_>,
    bundle: &Bundle<'_>,
    report: &mut Report,
) -> Result<Program, ProfileError> {
    let lowered = lower::lower(module, sites, bundle.hash().0)
        .map_err(|error| llvm("reading the data layout")(error.to_string()))?;
    report.opaque = lowered.opaque;
    let mut program = lowered.program;
    program.library = bundle.link().output == OutputKind::SharedLibrary;
    program.foreign_code = library::meets_foreign_code(bundle.link());
    let model = request.directory.join("model");
    write(&model, &program.to_bytes())?;
    Ok(program)
}

/// Why a site cannot meet another thread, as the model's analysis sees it; both
/// number sites alike.
fn privacy(sharing: &Sharing, site: SiteNumber) -> Option<Reason> {
    match sharing.verdict(bohr_program::SiteNumber::from_u32(site.0)) {
        Verdict::Private(reason) => Some(reason),
        Verdict::Shared | Verdict::Synchronises => None,
    }
}

fn take_count(report: &mut Report, count: &HookCount) {
    report.hooked = count.hooked;
    for (reason, sites) in &count.unhooked {
        let words = match reason {
            Unhooked::Private(reason) => reason.to_string(),
            Unhooked::PrivateSlot => "stack slot whose address stays in its function".into(),
            Unhooked::Segment => "through a segment register".into(),
            Unhooked::Naked => "in a function of assembly".into(),
            Unhooked::Empty => "of length 0".into(),
        };
        report.unhooked.insert(words, *sites);
    }
}

fn llvm(step: &'static str) -> impl Fn(String) -> ProfileError {
    move |message| ProfileError::Llvm { step, message }
}

/// Programs are linked at a fixed address, if that is wanted, but for those that
/// relocate themselves.
fn relocation(link: &LinkLine, fixed: bool) -> RelocMode {
    match link.output {
        OutputKind::SharedLibrary => RelocMode::PIC,
        OutputKind::PositionIndependent if link.options.fixed || !fixed => RelocMode::PIC,
        OutputKind::Executable | OutputKind::PositionIndependent => RelocMode::Static,
    }
}

fn assemble(
    context: &Context,
    tables: &str,
    relocation: RelocMode,
    diagnostics: &Diagnostics<'_>,
) -> Result<Vec<u8>, String> {
    let machine = target_machine(relocation, Level::Default)?;
    let module = context.create_module("bohr-tables");
    module.set_triple(&machine.get_triple());
    module.set_inline_assembly(tables);
    emit::object(&module, &machine, diagnostics)
}

/// Compiles parts that could not be merged, without hooks.
fn compile_alone(
    context: &Context,
    excluded: &[Excluded],
    bitcode: &Bitcode,
    relocation: RelocMode,
    report: &mut Report,
) -> Result<HashMap<PartId, Vec<u8>>, ProfileError> {
    let diagnostics = Diagnostics::collect(context);
    let mut objects = HashMap::new();
    for Excluded { part, reason } in excluded {
        let at = part.0 as usize;
        let part = bitcode.part(at);
        let module = merge::parse(context, &part, &diagnostics)?;
        level::note(context, &module, part.language);
        objects.insert(
            bitcode.ids[at],
            generate::object(&module, relocation, &diagnostics)?,
        );
        let (part, reason) = (part.name.to_string(), reason.clone());
        report.uninstrumented.push(Uninstrumented { part, reason });
    }
    Ok(objects)
}
