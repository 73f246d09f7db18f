//! Calls: which values go where, once it is known what is called.

use super::analysis::Analysis;
use super::node::NodeNumber;
use super::object::Origin;
use super::solve::CallSite;
use crate::attribute::FunctionFlags;
use crate::calls::shape::{is_variadic, kinds};
use crate::function::{Body, Call};
use crate::ids::{ArgumentNumber, FunctionNumber, TypeNumber};
use crate::instruction::Value;
use crate::{ConstantNumber, ConstantValue};
use cranelift_entity::EntityRef;

impl<'p> Analysis<'p> {
    /// Adds the constraints of a call, as far as they are known now.
    pub(super) fn constrain_call(&mut self, site: CallSite, body: &Body) {
        let call = &body.calls[site.call];
        match call
            .callee
            .constant()
            .and_then(|constant| self.called(constant))
        {
            Some(Called::Function(function)) => self.link(site, function),
            Some(Called::Assembly) => self.escape_call(site),
            None => match self.nodes.value(site.function, call.callee) {
                Some(pointer) => self.solver.call(pointer, site),
                None => self.link_unknown(site),
            },
        }
    }

    /// What a constant callee is.
    fn called(&self, mut constant: ConstantNumber) -> Option<Called> {
        loop {
            match self.program.constants[constant].value {
                ConstantValue::Function(function) => return Some(Called::Function(function)),
                ConstantValue::Assembly(_) => return Some(Called::Assembly),
                ConstantValue::Alias(alias) if !self.program.aliases[alias].indirect => {
                    constant = self.program.aliases[alias].target;
                }
                _ => return None,
            }
        }
    }

    /// The details of a call.
    pub(super) fn call(&self, site: CallSite) -> (&'p Call, &'p [Value]) {
        let body = self.program.functions[site.function].body.as_ref();
        let body = body.expect("calls lie in defined functions");
        let call = &body.calls[site.call];
        (call, body.arguments(call))
    }

    /// The call may reach `callee`.
    pub(super) fn link(&mut self, site: CallSite, callee: FunctionNumber) {
        self.callees[site.function].push(callee);
        if self.threads.contains(site.function) {
            self.run_in_thread(callee);
        }
        if self.program.functions[callee].body.is_none() {
            return self.link_outside(site, callee);
        }
        if self.program.library && self.program.functions[callee].exported {
            // The loader prefers a function of this name in what was loaded before.
            self.escape_call(site);
        }
        let (call, arguments) = self.call(site);
        let parameters = self.program.parameters(callee).len();
        for (index, &argument) in arguments.iter().enumerate() {
            if index < parameters {
                self.pass(site, argument, callee, ArgumentNumber::new(index));
            } else if is_variadic(self.program, self.program.functions[callee].signature) {
                let object = self.variadic(callee);
                let contents = self.solver.objects()[object].contents;
                self.flow(site.function, argument, contents);
            }
        }
        let result = self.nodes.instruction(site.function, site.instruction);
        if self.allocates(callee, call) {
            self.allocate(site);
        } else {
            self.solver.copy(self.nodes.result(callee), result);
        }
    }

    fn pass(
        &mut self,
        site: CallSite,
        argument: Value,
        callee: FunctionNumber,
        parameter: ArgumentNumber,
    ) {
        match self.copied.get(&(callee, parameter)) {
            Some(&copy) => {
                let contents = self.solver.objects()[copy].contents;
                self.load(site.function, argument, contents);
            }
            None => self.flow(
                site.function,
                argument,
                self.nodes.argument(callee, parameter),
            ),
        }
    }

    /// The call may reach any function whose address escaped.
    pub(super) fn link_unknown(&mut self, site: CallSite) {
        self.unresolved.push(site);
        let (call, arguments) = self.call(site);
        let result = self.nodes.instruction(site.function, site.instruction);
        self.solver.anywhere(result);
        if self.foreign_code || is_variadic(self.program, call.signature) {
            return self.escape_call(site);
        }
        let shape = self.shape(call.signature);
        for (index, &argument) in arguments.iter().enumerate() {
            self.flow(site.function, argument, shape[index]);
            let any = self.any_argument(index);
            self.flow(site.function, argument, any);
        }
    }

    /// Everything may call `function`, with anything that escaped.
    pub(super) fn function_escaped(&mut self, function: FunctionNumber) {
        self.run_in_thread(function);
        let facts = &self.program.functions[function];
        if facts.body.is_none() {
            return self.meet_foreign_code();
        }
        let parameters: Vec<NodeNumber> = self.nodes.arguments(function).collect();
        let variadic = is_variadic(self.program, facts.signature);
        let shape = self.shape(facts.signature);
        for (index, &parameter) in parameters.iter().enumerate() {
            self.solver.anywhere(parameter);
            let from = if variadic {
                self.any_argument(index)
            } else {
                shape[index]
            };
            self.solver.copy(from, parameter);
        }
        if variadic {
            let object = self.variadic(function);
            self.solver.address(NodeNumber::WORLD, object);
        }
        let copies = self.copied.iter().filter(|((of, _), _)| *of == function);
        let copies: Vec<_> = copies.map(|(_, &object)| object).collect();
        for object in copies {
            let contents = self.solver.objects()[object].contents;
            self.solver.anywhere(contents);
        }
        self.solver
            .copy(self.nodes.result(function), NodeNumber::WORLD);
    }

    /// From now on an unknown callee may be code that keeps what it is given.
    pub(super) fn meet_foreign_code(&mut self) {
        if !std::mem::replace(&mut self.foreign_code, true) {
            for site in self.unresolved.clone() {
                self.escape_call(site);
            }
        }
    }

    /// The callee may keep all arguments and return anything.
    pub(super) fn escape_call(&mut self, site: CallSite) {
        let (_, arguments) = self.call(site);
        for &argument in arguments {
            self.flow(site.function, argument, NodeNumber::WORLD);
        }
        let result = self.nodes.instruction(site.function, site.instruction);
        self.solver.anywhere(result);
    }

    /// The call's result is memory that nothing else points to.
    pub(super) fn allocate(&mut self, site: CallSite) {
        let object = self.new_object(Origin::Heap(site.function, site.instruction));
        let result = self.nodes.instruction(site.function, site.instruction);
        self.solver.address(result, object);
    }

    /// Whether a call of `callee` gives new memory.
    pub(super) fn allocates(&self, callee: FunctionNumber, call: &Call) -> bool {
        let attributes = &self.program.attributes;
        let function = attributes[self.program.functions[callee].attributes].flags;
        let flags = function | attributes[call.attributes].flags;
        flags.contains(FunctionFlags::ALLOCATES) && !flags.contains(FunctionFlags::REALLOCATES)
    }

    /// Gives every argument passed by value the callee's own copy.
    pub(super) fn constrain_parameters(&mut self, function: FunctionNumber) {
        let program = self.program;
        let attributes = &program.attributes[program.functions[function].attributes];
        for (index, parameter) in attributes.parameters.iter().enumerate() {
            if parameter.by_value.is_some() && index < program.parameters(function).len() {
                let argument = ArgumentNumber::new(index);
                let object = self.new_object(Origin::Copied(function, argument));
                self.copied.insert((function, argument), object);
                self.solver
                    .address(self.nodes.argument(function, argument), object);
            }
        }
    }

    /// `function`, and what it calls, may run outside the main thread.
    pub(super) fn run_in_thread(&mut self, function: FunctionNumber) {
        let mut work = vec![function];
        if self.threads.is_empty() {
            work.append(&mut self.at_exit);
        }
        while let Some(function) = work.pop() {
            if !self.threads.insert(function) {
                continue;
            }
            work.extend_from_slice(&self.callees[function]);
            if self.program.functions[function].body.is_some() {
                self.nodes
                    .of(function)
                    .for_each(|node| self.solver.in_thread(node));
                let mentions = std::mem::take(&mut self.mentions[function]);
                mentions
                    .into_iter()
                    .for_each(|node| self.solver.in_thread(node));
            }
        }
    }

    /// The nodes where calls of unknown functions of a type put their arguments.
    fn shape(&mut self, signature: TypeNumber) -> Vec<NodeNumber> {
        let kinds = kinds(self.program, signature);
        if let Some(shape) = self.shapes.get(&kinds) {
            return shape.clone();
        }
        let shape: Vec<NodeNumber> = kinds.iter().map(|_| self.fresh_node()).collect();
        self.shapes.insert(kinds, shape.clone());
        shape
    }

    fn any_argument(&mut self, index: usize) -> NodeNumber {
        while self.any_shape.len() <= index {
            let node = self.fresh_node();
            self.any_shape.push(node);
        }
        self.any_shape[index]
    }
}

/// What a constant callee is.
enum Called {
    Function(FunctionNumber),
    Assembly,
}
