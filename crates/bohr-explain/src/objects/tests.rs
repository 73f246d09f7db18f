//! Names in a program with one structure inside another, one of them a library's.

use super::*;
use bohr_event::abi::SiteInfo;
use bohr_event::{EventKind, MemoryOrder};
use bohr_program::{
    Access, ArgumentNumber, BodyBuilder, Operation, Owner, ProgramBuilder, SourceField,
    SourceVariable, Type,
};
use cranelift_entity::EntityRef;

/// `queue` has a `lock` of the library, a `count`, and three `slots`.
struct Toy {
    program: Arc<Program>,
    /// Reads `*queue` of `f(struct queue *queue)`.
    by_variable: SiteNumber,
    /// Reads `*nameless` of the second argument, of which nothing is known.
    by_nothing: SiteNumber,
}

fn toy() -> Toy {
    let mut builder = ProgramBuilder::new("e-p:64:64-i64:64-n8:16:32:64");
    let (void, pointer, int) = (
        builder.type_of(Type::Void),
        builder.type_of(Type::Pointer(0)),
        builder.type_of(Type::Integer(32)),
    );
    let names = ["queue", "lock", "count", "slots", "mutex", "word"];
    let [queue, lock, count, slots, mutex, word] = names.map(|name| builder.text(name));
    let types = &mut builder.program().source_types;
    let plain = types.push(SourceType::Plain { size: 4 });
    let field = |name, offset, of| SourceField { name, offset, of };
    let mutex = types.push(SourceType::Structure {
        name: mutex,
        size: 8,
        owner: Owner::Library,
        fields: [field(word, 4, plain)].into(),
    });
    let three = types.push(SourceType::Array {
        element: plain,
        size: 12,
    });
    let fields = [
        field(lock, 0, mutex),
        field(count, 8, plain),
        field(slots, 12, three),
    ];
    let whole = types.push(SourceType::Structure {
        name: queue,
        size: 24,
        owner: Owner::Program,
        fields: fields.into(),
    });
    let signature = builder.type_of(Type::Function {
        result: void,
        parameters: [pointer, pointer].into(),
        variadic: false,
    });
    let mut body = BodyBuilder::default();
    body.block();
    let access = Access::PLAIN;
    for argument in 0..2 {
        let address = ArgumentNumber::new(argument).into();
        body.push(Operation::Load { address, access }, int);
    }
    body.push(Operation::Return { value: None.into() }, void);
    body.variables(vec![SourceVariable {
        value: ArgumentNumber::new(0).into(),
        offset: 0,
        of: whole,
        name: queue,
        pointer: true,
    }]);
    let function = builder.define("f", signature, body.finish());
    let info = SiteInfo::new(EventKind::Read, MemoryOrder::Plain, 4);
    for instruction in 0..2 {
        builder.site(function, EntityRef::new(instruction), info);
    }
    Toy {
        program: Arc::new(builder.finish()),
        by_variable: SiteNumber::new(0),
        by_nothing: SiteNumber::new(1),
    }
}

#[test]
fn what_one_access_tells_names_the_whole_object() {
    let toy = toy();
    let mut objects = Objects::default();
    assert_eq!(objects.name(None, 0x100), None);
    objects.learn(&toy.program, toy.by_variable, 0x100);
    objects.learn(&toy.program, toy.by_nothing, 0x900);
    for (address, name) in [
        (0x100, Some("queue::lock")),
        (0x104, Some("queue::lock")),
        (0x108, Some("queue::count")),
        (0x10c, Some("queue::slots[0]")),
        (0x114, Some("queue::slots[2]")),
        (0x118, None),
        (0x900, None),
    ] {
        let found = objects.name(None, address).map(|found| found.name);
        assert_eq!(found.as_deref(), name, "{address:#x}");
    }
    let found = objects.name(Some((&toy.program, toy.by_nothing)), 0x108);
    assert_eq!(found.unwrap().object, Some((0x100, 24)));
}

#[test]
fn an_access_speaks_for_itself_first() {
    let toy = toy();
    let mut objects = Objects::default();
    objects.learn(&toy.program, toy.by_variable, 0x100);
    // The same site at an address inside the other object: one more begins here.
    let found = objects.name(Some((&toy.program, toy.by_variable)), 0x108);
    let found = found.unwrap();
    assert_eq!(found.name, "queue::lock");
    assert_eq!(found.object, Some((0x108, 24)));
}
