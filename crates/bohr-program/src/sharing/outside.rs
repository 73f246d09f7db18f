//! Calls of functions outside the program: intrinsics, functions that the table
//! of externals knows, and the rest, of which only the attributes of their
//! declaration are known.

use super::analysis::Analysis;
use super::node::NodeNumber;
use super::object::Origin;
use super::solve::CallSite;
use crate::attribute::ParameterFlags;
use crate::external::{self, ArgumentIndex, External, Facts, Outcome, Pointed, Use};
use crate::ids::FunctionNumber;
use crate::instruction::Value;

/// The number of the futex system call, which keeps nothing.
const FUTEX: i64 = 202;

impl Analysis<'_> {
    /// The call may reach `callee`, which is only declared.
    pub(super) fn link_outside(&mut self, site: CallSite, callee: FunctionNumber) {
        let program = self.program;
        let name = &program.texts[program.functions[callee].name];
        let (call, arguments) = self.call(site);
        if let Some(intrinsic) = name.strip_prefix("llvm.") {
            self.intrinsic(site, intrinsic, arguments);
        } else if name == "syscall" {
            self.system_call(site, arguments);
        } else if let Some(known) = external::find(name) {
            match known.facts.contains(Facts::MEMBER) {
                true => self.member(site, arguments),
                false => self.known(site, known, arguments),
            }
        } else if self.allocates(callee, call) {
            self.allocate(site);
        } else {
            self.by_attributes(site, callee, arguments);
        }
    }

    fn known(&mut self, site: CallSite, known: &External, arguments: &[Value]) {
        if known.facts.contains(Facts::LOADS_CODE) {
            self.meet_foreign_code();
        }
        let at_exit = known
            .facts
            .intersects(Facts::CALLS_AT_EXIT | Facts::CALLS_AT_THREAD_EXIT);
        for (index, &argument) in (0..).map(ArgumentIndex).zip(arguments) {
            let used = known.argument(index);
            let mut kept = Use::KEEPS | Use::STARTS;
            if known.first(Use::STARTS).is_some() || known.first(Use::CALLS_LATER).is_some() {
                kept |= Use::PASSES | Use::CALLS_LATER;
            }
            if used.intersects(Use::CALLS) || at_exit && used.intersects(Use::CALLS_LATER) {
                self.call_back(site, known, argument, arguments);
            } else if used.intersects(kept) && !at_exit {
                self.flow(site.function, argument, NodeNumber::WORLD);
            }
            if used.contains(Use::GETS_SHARED) {
                self.give_shared(site, argument);
            }
        }
        self.known_result(site, known, arguments);
        self.known_memory(site, known, arguments);
    }

    fn known_result(&mut self, site: CallSite, known: &External, arguments: &[Value]) {
        let result = self.nodes.instruction(site.function, site.instruction);
        match known.result {
            Outcome::Value => {}
            Outcome::Fresh => self.allocate(site),
            Outcome::Argument(index) => {
                if let Some(&argument) = arguments.get(usize::from(index.0)) {
                    self.flow(site.function, argument, result);
                }
            }
            // Besides numbers, it may hold addresses of tables that nobody writes.
            Outcome::ThreadMemory => {
                let object = self.new_object(Origin::Own);
                let contents = self.solver.objects()[object].contents;
                let table = self.plain_constant();
                self.solver.address(contents, table);
                self.solver.address(result, object);
            }
            Outcome::SharedMemory | Outcome::Anything => self.solver.anywhere(result),
        }
    }

    fn known_memory(&mut self, site: CallSite, known: &External, arguments: &[Value]) {
        let function = site.function;
        let result = self.nodes.instruction(function, site.instruction);
        let node = |analysis: &Self, index: ArgumentIndex| {
            let argument = arguments.get(usize::from(index.0))?;
            analysis.nodes.value(function, *argument)
        };
        let pointed = |analysis: &Self, pointed: Pointed| match pointed {
            Pointed::Argument(index) => node(analysis, index),
            Pointed::Result => Some(result),
        };
        for &(from, to) in &known.copies {
            if let (Some(from), Some(to)) = (pointed(self, from), pointed(self, to)) {
                self.copy_memory(to, from);
            }
        }
        for &(pointer, place) in &known.puts {
            if let (Some(pointer), Some(place)) = (node(self, pointer), node(self, place)) {
                self.solver.store(place, pointer);
            }
        }
        if let Some(place) = known.fresh_at.and_then(|index| node(self, index)) {
            self.store_new(site, place);
        }
    }

    fn store_new(&mut self, site: CallSite, place: NodeNumber) {
        let object = self.new_object(Origin::Heap(site.function, site.instruction));
        let pointer = self.fresh_node();
        self.solver.address(pointer, object);
        self.solver.store(place, pointer);
    }

    /// Pointers that others know are written where `argument` points to.
    fn give_shared(&mut self, site: CallSite, argument: Value) {
        if let Some(to) = self.nodes.value(site.function, argument) {
            self.solver.store(to, NodeNumber::WORLD);
        }
    }

    /// What lies where `from` points to is put where `to` points to.
    fn copy_memory(&mut self, to: NodeNumber, from: NodeNumber) {
        let contents = self.fresh_node();
        self.solver.load(from, contents);
        self.solver.store(to, contents);
    }

    /// A function outside calls one of ours that it was just given. Only a
    /// routine that is named at the call is followed; others escape.
    fn call_back(&mut self, site: CallSite, known: &External, routine: Value, arguments: &[Value]) {
        let named = routine.constant().map(|constant| self.addresses(constant));
        let callee = match named.as_deref() {
            Some([Some(object)]) => self.solver.objects()[*object].origin,
            _ => Origin::Own,
        };
        let passed = (0..).map(ArgumentIndex).zip(arguments.iter().copied());
        let passed: Vec<Value> = passed
            .filter(|&(index, _)| known.argument(index).intersects(Use::PASSES | Use::READS))
            .map(|(_, argument)| argument)
            .collect();
        let Origin::Function(callee) = callee else {
            let escaping = passed.into_iter().chain([routine]);
            return escaping
                .for_each(|argument| self.flow(site.function, argument, NodeNumber::WORLD));
        };
        if known.facts.contains(Facts::CALLS_AT_EXIT) {
            self.runs_at_exit(callee);
        } else {
            self.resolved.insert((site, callee));
            self.callees[site.function].push(callee);
            if self.threads.contains(site.function) {
                self.run_in_thread(callee);
            }
        }
        if self.program.functions[callee].body.is_none() {
            return passed
                .into_iter()
                .for_each(|argument| self.flow(site.function, argument, NodeNumber::WORLD));
        }
        // Which of the arguments becomes which parameter is not told apart.
        let known_only = known.facts.intersects(
            Facts::CALLS_WITH_GIVEN | Facts::CALLS_AT_EXIT | Facts::CALLS_AT_THREAD_EXIT,
        );
        for parameter in self.nodes.arguments(callee) {
            passed
                .iter()
                .for_each(|&argument| self.flow(site.function, argument, parameter));
            if !known_only {
                self.solver.anywhere(parameter);
            }
        }
    }

    fn runs_at_exit(&mut self, callee: FunctionNumber) {
        match self.threads.is_empty() {
            true => self.at_exit.push(callee),
            false => self.run_in_thread(callee),
        }
    }

    fn system_call(&mut self, site: CallSite, arguments: &[Value]) {
        let number = arguments.first().and_then(|number| number.constant());
        let number = number.and_then(|constant| self.program.signed(constant));
        if number != Some(FUTEX) {
            self.escape_call(site);
        }
    }

    /// A member of a class that owns a buffer keeps pointers into that only.
    fn member(&mut self, site: CallSite, arguments: &[Value]) {
        let function = site.function;
        let result = self.nodes.instruction(function, site.instruction);
        self.allocate(site);
        let pointers: Vec<NodeNumber> = arguments
            .iter()
            .filter_map(|&one| self.nodes.value(function, one))
            .collect();
        let Some(&string) = pointers.first() else {
            return;
        };
        self.solver.copy(string, result);
        self.store_new(site, string);
        self.solver.store(string, string);
        for &other in &pointers[1..] {
            self.copy_memory(string, other);
            self.copy_memory(other, string);
        }
    }

    /// LLVM's own functions. Most compute a result from their arguments.
    fn intrinsic(&mut self, site: CallSite, name: &str, arguments: &[Value]) {
        let function = site.function;
        let result = self.nodes.instruction(function, site.instruction);
        let family = name.split('.').next().unwrap_or_default();
        let node = |analysis: &Self, value: Value| analysis.nodes.value(function, value);
        match (family, arguments) {
            ("memcpy" | "memmove" | "va_copy", [to, from, ..]) => {
                if let (Some(to), Some(from)) = (node(self, *to), node(self, *from)) {
                    self.copy_memory(to, from);
                }
            }
            // Registers and overflow area, where the arguments lie, are one object.
            ("va_start", [list, ..]) => {
                let area = self.variadic(function);
                let pointer = self.fresh_node();
                self.solver.address(pointer, area);
                if let Some(list) = node(self, *list) {
                    self.solver.store(list, pointer);
                }
            }
            ("masked", [first, second, ..]) => {
                if name.contains("store") || name.contains("scatter") {
                    self.store(function, *second, *first);
                } else {
                    self.load(function, *first, result);
                    arguments
                        .iter()
                        .for_each(|&value| self.flow(function, value, result));
                }
            }
            ("returnaddress" | "frameaddress" | "addressofreturnaddress" | "localrecover", _)
            | ("sponentry" | "stacksave" | "read_register" | "coro" | "init" | "adjust", _) => {
                self.escape_call(site);
            }
            _ => arguments
                .iter()
                .for_each(|&value| self.flow(function, value, result)),
        }
    }

    /// A function of which only the declaration is known.
    fn by_attributes(&mut self, site: CallSite, callee: FunctionNumber, arguments: &[Value]) {
        self.meet_foreign_code();
        let program = self.program;
        let (call, _) = self.call(site);
        let result = self.nodes.instruction(site.function, site.instruction);
        self.solver.anywhere(result);
        let declared = &program.attributes[program.functions[callee].attributes];
        let here = &program.attributes[call.attributes];
        for (index, &argument) in arguments.iter().enumerate() {
            let flags = [declared, here].map(|attributes| {
                attributes
                    .parameters
                    .get(index)
                    .map_or(ParameterFlags::empty(), |one| one.flags)
            });
            let flags = flags[0] | flags[1];
            if !flags.contains(ParameterFlags::NO_CAPTURE) {
                self.flow(site.function, argument, NodeNumber::WORLD);
                continue;
            }
            // The pointer is not kept, but what is read through it may be, and
            // anything may be written there.
            if !flags.intersects(ParameterFlags::WRITE_ONLY | ParameterFlags::READ_NONE) {
                let contents = self.fresh_node();
                self.load(site.function, argument, contents);
                self.solver.copy(contents, NodeNumber::WORLD);
            }
            if !flags.intersects(ParameterFlags::READ_ONLY | ParameterFlags::READ_NONE) {
                self.give_shared(site, argument);
            }
        }
    }
}
