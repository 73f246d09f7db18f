//! Which objects each pointer may point to, and which objects escape: the
//! smallest solution of the program's constraints.
//!
//! L. Andersen, "Program Analysis and Specialization for the C Programming
//! Language", PhD thesis, DIKU 1994, chapter 4, by difference propagation.
//! Deviations:
//!
//! - Everything that other threads or foreign code can reach is one object, the
//!   world, and a flag in place of a set: an object that escapes disappears
//!   into it. Only memory that has *not* escaped is told apart, which is what
//!   the analysis is for, and which keeps the sets small.
//! - A pointer to more than [`WIDEST`] objects is taken to point anywhere, and
//!   those objects to have escaped. That bounds time at some loss of precision.
//! - Which functions run in threads is found along the way (see `reach.rs`).

use super::node::NodeNumber;
use super::object::{ObjectNumber, Origin};
use crate::ids::CallNumber;
use crate::ids::FunctionNumber;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use std::collections::HashSet;

/// The largest set of objects that is worth telling apart.
const WIDEST: usize = 1024;

/// A call through a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallSite {
    pub(crate) function: FunctionNumber,
    pub(crate) call: CallNumber,
    pub(crate) instruction: crate::InstructionNumber,
}

/// A node: what it may point to, and what depends on that.
#[derive(Clone, Debug, Default)]
struct Node {
    /// Ascending.
    objects: Vec<ObjectNumber>,
    /// Those of them that have not been propagated yet.
    fresh: Vec<ObjectNumber>,
    /// Whether it may point to anything that has escaped.
    world: bool,
    /// Whether that has not been propagated yet.
    world_fresh: bool,
    /// Whether its objects were given up for the world.
    widened: bool,
    /// Whether it is a value of a function that runs in threads.
    in_thread: bool,
    /// Nodes that include this one.
    copies: Vec<NodeNumber>,
    /// Nodes that include the contents of what this one points to.
    loads: Vec<NodeNumber>,
    /// Nodes that the contents of what this one points to include.
    stores: Vec<NodeNumber>,
    /// Calls through this one.
    calls: Vec<CallSite>,
    waiting: bool,
}

/// What is known of an object.
#[derive(Clone, Debug)]
pub(crate) struct ObjectState {
    pub(crate) origin: Origin,
    /// The node of its contents.
    pub(crate) contents: NodeNumber,
    /// Whether its address is in the world.
    pub(crate) escaped: bool,
    /// Whether code that runs in threads names it.
    pub(crate) visible: bool,
}

/// Something that the solver cannot do itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// This function can be called through the pointer of this call.
    Callee(CallSite, FunctionNumber),
    /// The pointer of this call comes from the world.
    UnknownCallee(CallSite),
    /// The address of this function escaped.
    FunctionEscaped(FunctionNumber),
}

/// The constraints and the solution so far.
#[derive(Debug, Default)]
pub(crate) struct Solver {
    /// Union-find over nodes; a root is its own parent.
    parent: Vec<NodeNumber>,
    nodes: SecondaryMap<NodeNumber, Node>,
    objects: PrimaryMap<ObjectNumber, ObjectState>,
    /// Copies that were added while solving, each only once.
    known: HashSet<(NodeNumber, NodeNumber)>,
    work: Vec<NodeNumber>,
    events: Vec<Event>,
}

impl Solver {
    /// The node that stands for `node`.
    pub(crate) fn find(&mut self, node: NodeNumber) -> NodeNumber {
        while self.parent.len() <= node.index() {
            self.parent.push(NodeNumber::new(self.parent.len()));
        }
        let mut root = node;
        while self.parent[root.index()] != root {
            let above = self.parent[root.index()];
            self.parent[root.index()] = self.parent[above.index()];
            root = above;
        }
        root
    }

    /// A new object with its contents in `contents`.
    pub(crate) fn object(&mut self, origin: Origin, contents: NodeNumber) -> ObjectNumber {
        self.objects.push(ObjectState {
            origin,
            contents,
            escaped: false,
            visible: false,
        })
    }

    /// Every object.
    pub(crate) fn objects(&self) -> &PrimaryMap<ObjectNumber, ObjectState> {
        &self.objects
    }

    /// What a node may point to, and whether that may be anything in the world.
    pub(crate) fn points_to(&mut self, node: NodeNumber) -> (&[ObjectNumber], bool) {
        let node = self.find(node);
        (&self.nodes[node].objects, self.nodes[node].world)
    }

    /// `node` may point to `object`.
    pub(crate) fn address(&mut self, node: NodeNumber, object: ObjectNumber) {
        let node = self.find(node);
        self.add(node, object);
    }

    /// `node` may point anywhere in the world.
    pub(crate) fn anywhere(&mut self, node: NodeNumber) {
        let node = self.find(node);
        let state = &mut self.nodes[node];
        if !std::mem::replace(&mut state.world, true) {
            state.world_fresh = true;
            self.wait(node);
        }
    }

    /// What `from` may point to, `to` may too.
    pub(crate) fn copy(&mut self, from: NodeNumber, to: NodeNumber) {
        let (from, to) = (self.find(from), self.find(to));
        if from == to {
            return;
        }
        if from == NodeNumber::WORLD {
            return self.anywhere(to);
        }
        if self.known.insert((from, to)) {
            self.nodes[from].copies.push(to);
            if self.nodes[from].world {
                self.anywhere(to);
            }
            let objects = self.nodes[from].objects.clone();
            objects.into_iter().for_each(|object| self.add(to, object));
        }
    }

    /// What is stored where `address` points to, `to` may point to.
    pub(crate) fn load(&mut self, address: NodeNumber, to: NodeNumber) {
        let address = self.find(address);
        self.nodes[address].loads.push(to);
        if self.nodes[address].world {
            self.anywhere(to);
        }
        for object in self.nodes[address].objects.clone() {
            self.copy(self.objects[object].contents, to);
        }
    }

    /// What `from` may point to is stored where `address` points to.
    pub(crate) fn store(&mut self, address: NodeNumber, from: NodeNumber) {
        let address = self.find(address);
        self.nodes[address].stores.push(from);
        if self.nodes[address].world {
            self.copy(from, NodeNumber::WORLD);
        }
        for object in self.nodes[address].objects.clone() {
            self.store_into(object, from);
        }
    }

    /// There is a call through `pointer`.
    pub(crate) fn call(&mut self, pointer: NodeNumber, site: CallSite) {
        let pointer = self.find(pointer);
        self.nodes[pointer].calls.push(site);
        if self.nodes[pointer].world {
            self.events.push(Event::UnknownCallee(site));
        }
        for object in self.nodes[pointer].objects.clone() {
            self.call_of(site, object);
        }
    }

    /// `node` belongs to code that runs in threads: what it names is visible there.
    pub(crate) fn in_thread(&mut self, node: NodeNumber) {
        let node = self.find(node);
        if !std::mem::replace(&mut self.nodes[node].in_thread, true) {
            for object in self.nodes[node].objects.clone() {
                self.show(object);
            }
        }
    }

    /// Propagates until nothing changes or something happened that the caller
    /// has to add constraints for.
    pub(crate) fn run(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop() {
                return Some(event);
            }
            let node = self.work.pop()?;
            let node = self.find(node);
            if std::mem::replace(&mut self.nodes[node].waiting, false) {
                self.propagate(node);
            }
        }
    }

    fn propagate(&mut self, node: NodeNumber) {
        let fresh = std::mem::take(&mut self.nodes[node].fresh);
        let world_fresh = std::mem::replace(&mut self.nodes[node].world_fresh, false);
        if node == NodeNumber::WORLD {
            return fresh
                .into_iter()
                .for_each(|object| self.follow_escaped(object));
        }
        // The lists may grow meanwhile; what is added then sees the whole set.
        let [copies, loads, stores] = {
            let state = &self.nodes[node];
            [
                state.copies.clone(),
                state.loads.clone(),
                state.stores.clone(),
            ]
        };
        let calls = self.nodes[node].calls.clone();
        for &object in &fresh {
            loads
                .iter()
                .for_each(|&to| self.copy(self.objects[object].contents, to));
            stores
                .iter()
                .for_each(|&from| self.store_into(object, from));
            calls.iter().for_each(|&site| self.call_of(site, object));
        }
        for to in copies {
            let to = self.find(to);
            fresh.iter().for_each(|&object| self.add(to, object));
            if world_fresh {
                self.anywhere(to);
            }
        }
        if world_fresh {
            loads.iter().for_each(|&to| self.anywhere(to));
            stores
                .iter()
                .for_each(|&from| self.copy(from, NodeNumber::WORLD));
            self.events
                .extend(calls.into_iter().map(Event::UnknownCallee));
        }
    }

    fn store_into(&mut self, object: ObjectNumber, from: NodeNumber) {
        // A constant is never written, whatever a pointer to it may do elsewhere.
        if !self.objects[object].origin.is_constant() {
            self.copy(from, self.objects[object].contents);
        }
    }

    fn call_of(&mut self, site: CallSite, object: ObjectNumber) {
        if let Origin::Function(function) = self.objects[object].origin {
            self.events.push(Event::Callee(site, function));
        }
    }

    /// Adds an object to a node that stands for itself.
    fn add(&mut self, node: NodeNumber, object: ObjectNumber) {
        if node == NodeNumber::WORLD {
            return self.escape(object);
        }
        let state = &self.nodes[node];
        if self.objects[object].escaped {
            // It is in the world. Code and constants are told apart a little longer.
            let told_apart = self.objects[object].origin.is_constant();
            if !told_apart || state.world {
                return self.anywhere(node);
            }
        }
        if state.widened {
            return self.escape(object);
        }
        let Err(place) = state.objects.binary_search(&object) else {
            return;
        };
        self.nodes[node].objects.insert(place, object);
        self.nodes[node].fresh.push(object);
        if self.nodes[node].in_thread {
            self.show(object);
        }
        if self.nodes[node].objects.len() > WIDEST {
            self.widen(node);
        }
        self.wait(node);
    }

    /// Gives up telling the objects of a node apart.
    fn widen(&mut self, node: NodeNumber) {
        let objects = std::mem::take(&mut self.nodes[node].objects);
        self.nodes[node].fresh.clear();
        self.nodes[node].widened = true;
        self.anywhere(node);
        objects.into_iter().for_each(|object| self.escape(object));
    }

    fn wait(&mut self, node: NodeNumber) {
        if !std::mem::replace(&mut self.nodes[node].waiting, true) {
            self.work.push(node);
        }
    }

    /// The address of `object` is in the world.
    fn escape(&mut self, object: ObjectNumber) {
        if !std::mem::replace(&mut self.objects[object].escaped, true) {
            self.nodes[NodeNumber::WORLD].fresh.push(object);
            self.wait(NodeNumber::WORLD);
        }
    }

    /// What an object holds is as widely known as its address.
    fn follow_escaped(&mut self, object: ObjectNumber) {
        let contents = self.objects[object].contents;
        match self.objects[object].origin {
            Origin::Function(function) => self.events.push(Event::FunctionEscaped(function)),
            Origin::PlainConstants => {}
            Origin::Constant(_) => self.copy(contents, NodeNumber::WORLD),
            _ => self.unite(contents, NodeNumber::WORLD),
        }
    }

    /// Code that runs in threads can name `object`.
    fn show(&mut self, object: ObjectNumber) {
        let state = &mut self.objects[object];
        if state.origin.is_named() && !std::mem::replace(&mut state.visible, true) {
            let contents = state.contents;
            self.unite(contents, NodeNumber::WORLD);
        }
    }

    /// Makes two nodes one; the second stands for both.
    pub(crate) fn unite(&mut self, gone: NodeNumber, kept: NodeNumber) {
        let (gone, kept) = (self.find(gone), self.find(kept));
        let (gone, kept) = if gone == NodeNumber::WORLD {
            (kept, gone)
        } else {
            (gone, kept)
        };
        if gone == kept {
            return;
        }
        self.parent[gone.index()] = kept;
        let old = std::mem::take(&mut self.nodes[gone]);
        if old.in_thread {
            self.in_thread(kept);
        }
        if old.world {
            self.anywhere(kept);
        }
        if old.widened {
            self.nodes[kept].widened |= kept != NodeNumber::WORLD;
        }
        old.objects
            .into_iter()
            .for_each(|object| self.add(kept, object));
        old.copies.into_iter().for_each(|to| self.copy(kept, to));
        old.loads.into_iter().for_each(|to| self.load(kept, to));
        old.stores
            .into_iter()
            .for_each(|from| self.store(kept, from));
        old.calls.into_iter().for_each(|site| self.call(kept, site));
    }
}
