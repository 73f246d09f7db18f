//! The analysis in one place: its tables, and the loop that alternates between
//! the solver and the calls that it uncovers.

use super::node::{NodeNumber, Numbering};
use super::object::{ObjectNumber, Origin};
use super::solve::{CallSite, Event, Solver};
use crate::calls::shape::Kind;
use crate::ids::{ArgumentNumber, ConstantNumber, FunctionNumber, GlobalNumber};
use crate::program::Program;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use std::collections::{HashMap, HashSet};

/// Whether a constant holds addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Holds {
    /// Not looked at yet.
    #[default]
    Unknown,
    Yes,
    No,
}

/// Everything that is known while the analysis runs.
pub(crate) struct Analysis<'p> {
    pub(super) program: &'p Program,
    pub(super) nodes: Numbering,
    pub(super) solver: Solver,
    pub(super) holds: SecondaryMap<ConstantNumber, Holds>,
    pub(super) functions: SecondaryMap<FunctionNumber, PackedOption<ObjectNumber>>,
    pub(super) globals: SecondaryMap<GlobalNumber, PackedOption<ObjectNumber>>,
    /// All constants without addresses in them: nothing tells them apart.
    pub(super) plain_constant: PackedOption<ObjectNumber>,
    pub(super) variadic: SecondaryMap<FunctionNumber, PackedOption<ObjectNumber>>,
    /// Constants with addresses that a function names.
    pub(super) mentions: SecondaryMap<FunctionNumber, Vec<NodeNumber>>,
    /// The functions that a function may call, those outside included.
    pub(super) callees: SecondaryMap<FunctionNumber, Vec<FunctionNumber>>,
    /// What each call through a pointer may call.
    pub(super) resolved: HashSet<(CallSite, FunctionNumber)>,
    /// Calls through pointers that come from the world.
    pub(super) unresolved: Vec<CallSite>,
    /// Functions that may run outside the main thread.
    pub(super) threads: EntitySet<FunctionNumber>,
    /// Where calls of unknown functions put their arguments, by their kinds.
    pub(super) shapes: HashMap<Vec<Kind>, Vec<NodeNumber>>,
    /// The same for functions that may take any arguments.
    pub(super) any_shape: Vec<NodeNumber>,
    /// The callee's copies of arguments passed by value.
    pub(super) copied: HashMap<(FunctionNumber, ArgumentNumber), ObjectNumber>,
    /// Functions that run when the program ends, in whichever thread ends it.
    pub(super) at_exit: Vec<FunctionNumber>,
    /// Whether the world may hold addresses of code outside this program.
    pub(super) foreign_code: bool,
}

impl<'p> Analysis<'p> {
    /// Runs the analysis on a whole program.
    pub(crate) fn new(program: &'p Program) -> Analysis<'p> {
        let mut analysis = Analysis {
            program,
            nodes: Numbering::new(program),
            solver: Solver::default(),
            holds: SecondaryMap::new(),
            functions: SecondaryMap::new(),
            globals: SecondaryMap::new(),
            plain_constant: None.into(),
            variadic: SecondaryMap::new(),
            mentions: SecondaryMap::new(),
            callees: SecondaryMap::new(),
            resolved: HashSet::new(),
            unresolved: Vec::new(),
            threads: EntitySet::new(),
            shapes: HashMap::new(),
            any_shape: Vec::new(),
            copied: HashMap::new(),
            at_exit: Vec::new(),
            foreign_code: false,
        };
        analysis.solver.anywhere(NodeNumber::WORLD);
        analysis.constrain_roots();
        program
            .bodies()
            .for_each(|(function, ..)| analysis.constrain_parameters(function));
        for (function, _, body) in program.bodies() {
            analysis.constrain_body(function, body);
        }
        analysis.solve();
        analysis
    }

    fn solve(&mut self) {
        while let Some(event) = self.solver.run() {
            match event {
                Event::Callee(site, function) => {
                    if self.resolved.insert((site, function)) {
                        self.link(site, function);
                    }
                }
                Event::UnknownCallee(site) => self.link_unknown(site),
                Event::FunctionEscaped(function) => self.function_escaped(function),
            }
        }
    }

    /// What `main`, other objects and the loader bring in.
    fn constrain_roots(&mut self) {
        let program = self.program;
        if program.foreign_code {
            self.meet_foreign_code();
        }
        for (function, facts) in program.functions.iter() {
            if facts.body.is_some() && facts.exported {
                if &program.texts[facts.name] == "main" {
                    self.constrain_main(function);
                } else {
                    self.expose(function);
                }
            }
            // The unwinder calls it with memory of its own, in any thread.
            if let Some(personality) = facts.personality.expand() {
                self.expose(personality);
            }
        }
        if program.library {
            // Of other names nobody notes whether the library exports them.
            for alias in program.aliases.values() {
                if let Some(node) = self.constant(alias.target) {
                    self.solver.copy(node, NodeNumber::WORLD);
                }
            }
        }
        for (global, facts) in program.globals.iter() {
            let object = self.global(global);
            let contents = self.solver.objects()[object].contents;
            match facts.initialiser.expand() {
                Some(constant) => {
                    if let Some(node) = self.constant(constant) {
                        self.solver.copy(node, contents);
                    }
                }
                // Another object defines it and may keep any address in it.
                None => self.solver.anywhere(contents),
            }
            let is_outside = facts.initialiser.is_none() && !facts.constant;
            if facts.exported || is_outside {
                self.solver.address(NodeNumber::WORLD, object);
            }
        }
    }

    /// Code outside the program may call `function`.
    fn expose(&mut self, function: FunctionNumber) {
        if self.program.functions[function].body.is_some() {
            let object = self.function(function);
            self.solver.address(NodeNumber::WORLD, object);
        }
    }

    /// The arguments and the environment point to themselves.
    fn constrain_main(&mut self, main: FunctionNumber) {
        let object = self.new_object(Origin::Arguments);
        let contents = self.solver.objects()[object].contents;
        self.solver.address(contents, object);
        for argument in self.nodes.arguments(main) {
            self.solver.address(argument, object);
        }
    }

    pub(super) fn fresh_node(&mut self) -> NodeNumber {
        self.nodes.fresh()
    }

    pub(super) fn new_object(&mut self, origin: Origin) -> ObjectNumber {
        let contents = self.fresh_node();
        self.solver.object(origin, contents)
    }

    /// The object of a function's code.
    pub(super) fn function(&mut self, function: FunctionNumber) -> ObjectNumber {
        if let Some(object) = self.functions[function].expand() {
            return object;
        }
        let object = self.new_object(Origin::Function(function));
        self.functions[function] = object.into();
        object
    }

    /// The object of a function's variable arguments.
    pub(super) fn variadic(&mut self, function: FunctionNumber) -> ObjectNumber {
        if let Some(object) = self.variadic[function].expand() {
            return object;
        }
        let object = self.new_object(Origin::Variadic(function));
        self.variadic[function] = object.into();
        object
    }

    /// The object of all constants that hold no address.
    pub(super) fn plain_constant(&mut self) -> ObjectNumber {
        if let Some(object) = self.plain_constant.expand() {
            return object;
        }
        let object = self.new_object(Origin::PlainConstants);
        self.plain_constant = object.into();
        object
    }

    /// The object of a global variable.
    pub(super) fn global(&mut self, global: GlobalNumber) -> ObjectNumber {
        if let Some(object) = self.globals[global].expand() {
            return object;
        }
        let facts = &self.program.globals[global];
        let initialiser = facts.initialiser.expand();
        let holds_addresses = initialiser.is_none_or(|constant| self.holds_addresses(constant));
        let object = match (facts.thread_local, facts.constant) {
            (true, _) => self.new_object(Origin::ThreadLocal(global)),
            (false, true) if holds_addresses => self.new_object(Origin::Constant(global)),
            (false, true) => self.plain_constant(),
            (false, false) => self.new_object(Origin::Global(global)),
        };
        self.globals[global] = object.into();
        object
    }
}
