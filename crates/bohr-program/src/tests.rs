//! A small program made by hand, and what the model says about it.

use crate::*;
use bohr_event::abi::SiteInfo;
use bohr_event::{EventKind, FunctionId, MemoryOrder, SiteId};
use cranelift_entity::EntityRef;

/// `int counter; int *where; void bump(void) { counter = counter + 1; where = &counter; }`
/// and `void twice(void) { bump(); bump(); }`.
pub(crate) fn counter() -> Program {
    let mut builder = ProgramBuilder::new("e-i64:64-i128:128-f80:128");
    let void = builder.type_of(Type::Void);
    let int = builder.type_of(Type::Integer(32));
    let pointer = builder.type_of(Type::Pointer(0));
    let signature = builder.type_of(Type::Function {
        result: void,
        parameters: Box::default(),
        variadic: false,
    });
    let zero = builder.constant(int, ConstantValue::Integer(0));
    let one = builder.constant(int, ConstantValue::Integer(1));
    let null = builder.constant(pointer, ConstantValue::Null);
    let counter = global(&mut builder, "counter", int, zero);
    let place = global(&mut builder, "where", pointer, null);
    let counter = builder.constant(pointer, ConstantValue::Global(counter));
    let place = builder.constant(pointer, ConstantValue::Global(place));

    let mut body = BodyBuilder::default();
    body.block();
    let access = Access::PLAIN;
    let address = counter.into();
    let old = body.push(Operation::Load { address, access }, int);
    let sum = Operation::Binary {
        operator: BinaryOperator::Add,
        flags: OperationFlags::NO_SIGNED_WRAP,
        left: old,
        right: one.into(),
    };
    let value = body.push(sum, int);
    body.push(
        Operation::Store {
            address,
            value,
            access,
        },
        void,
    );
    let (address, value) = (place.into(), counter.into());
    body.push(
        Operation::Store {
            address,
            value,
            access,
        },
        void,
    );
    body.push(Operation::Return { value: None.into() }, void);
    let bump = builder.define("bump", signature, body.finish());

    let callee = builder
        .constant(pointer, ConstantValue::Function(bump))
        .into();
    let attributes = builder.attributes(Attributes::default());
    let mut body = BodyBuilder::default();
    body.block();
    for _ in 0..2 {
        let call = body.body().calls.push(Call {
            callee,
            signature,
            arguments: List::EMPTY,
            bundled: List::EMPTY,
            attributes,
            tail: TailCall::Unmarked,
        });
        body.push(Operation::Call { call }, void);
    }
    body.push(Operation::Return { value: None.into() }, void);
    builder.define("twice", signature, body.finish());
    let info = |kind| SiteInfo::new(kind, MemoryOrder::Plain, 4);
    builder.site(bump, InstructionNumber::new(0), info(EventKind::Read));
    builder.site(bump, InstructionNumber::new(2), info(EventKind::Write));
    builder.site(bump, InstructionNumber::new(3), info(EventKind::Write));
    builder.finish()
}

/// A program with a little of everything that refers to something else:
/// branches, phis, switches, calls that may unwind, paths, places, aliases.
pub(crate) fn sampler() -> Program {
    let mut builder = ProgramBuilder::new("e-i64:64-i128:128-f80:128");
    let void = builder.type_of(Type::Void);
    let int = builder.type_of(Type::Integer(32));
    let pointer = builder.type_of(Type::Pointer(0));
    let name = Some(builder.text("pair"));
    let pair = builder.type_of(Type::Struct {
        fields: [pointer, int].into(),
        packed: false,
        name,
    });
    let signature = builder.type_of(Type::Function {
        result: int,
        parameters: [pointer, int].into(),
        variadic: true,
    });
    let [zero, one] = [0, 1].map(|n| builder.constant(int, ConstantValue::Integer(n)));
    let table = builder.constant(pair, ConstantValue::Zero);
    let table = global(&mut builder, "table", pair, table);
    let table = builder.constant(pointer, ConstantValue::Global(table));
    let second = builder.constant(
        pointer,
        ConstantValue::Expression(ConstantExpression::ElementPointer {
            source: pair,
            base: table,
            indices: [zero, one].into(),
            inbounds: true,
        }),
    );
    let name = builder.text("second");
    builder.program().aliases.push(Alias {
        name,
        target: second,
        indirect: false,
    });
    let file = builder.text("sampler.c");
    let file = builder.file(SourceFile {
        path: file,
        directory: file,
    });
    let scope = builder.scope(Scope {
        name,
        linkage_name: name,
        file: Some(file).into(),
        line: 3,
    });
    let outer = builder.location(Location {
        scope,
        line: 9,
        column: 1,
        inlined_at: None.into(),
    });
    let inner = builder.location(Location {
        scope,
        line: 4,
        column: 2,
        inlined_at: Some(outer).into(),
    });

    let callee = builder.constant(pointer, ConstantValue::Function(FunctionNumber::new(1)));
    let attributes = builder.attributes(Attributes {
        result: Parameter {
            by_value: Some(pair),
            ..Parameter::default()
        },
        ..Attributes::default()
    });
    let mut body = BodyBuilder::default();
    body.at(Some(inner));
    let [entry, chosen, joined, pad, done] = std::array::from_fn(BlockNumber::new);
    let first: Value = ArgumentNumber::new(0).into();
    let second: Value = ArgumentNumber::new(1).into();
    assert_eq!(body.block(), entry);
    let cases = body.body().cases.push([Case {
        value: one,
        target: chosen,
    }]);
    body.push(
        Operation::Switch {
            value: second,
            default: joined,
            cases,
        },
        void,
    );
    assert_eq!(body.block(), chosen);
    let indices = body.body().values.push([zero.into(), one.into()]);
    let field = body.push(
        Operation::ElementPointer {
            source: pair,
            base: first,
            indices,
            flags: OperationFlags::INBOUNDS,
        },
        pointer,
    );
    let access = Access::PLAIN;
    let loaded = body.push(
        Operation::Load {
            address: field,
            access,
        },
        int,
    );
    body.push(
        Operation::ConditionalBranch {
            condition: loaded,
            then: joined,
            otherwise: done,
        },
        void,
    );
    assert_eq!(body.block(), joined);
    let incoming =
        [(entry, second), (chosen, loaded)].map(|(from, value)| Incoming { from, value });
    let incoming = body.body().incoming.push(incoming);
    let merged = body.push(Operation::Phi { incoming }, int);
    let arguments = body.body().values.push([first, merged]);
    let call = body.body().calls.push(Call {
        callee: callee.into(),
        signature,
        arguments,
        bundled: List::EMPTY,
        attributes,
        tail: TailCall::Never,
    });
    body.push(
        Operation::Invoke {
            call,
            normal: done,
            unwind: pad,
        },
        int,
    );
    assert_eq!(body.block(), pad);
    let clauses = body.body().clauses.push([Clause::Catch(table)]);
    let caught = body.push(
        Operation::LandingPad {
            clauses,
            cleanup: true,
        },
        pair,
    );
    let path = body.body().paths.push([1]);
    let path = Operation::ExtractValue {
        aggregate: caught,
        path,
    };
    body.push(path, int);
    body.push(Operation::Branch { target: done }, void);
    assert_eq!(body.block(), done);
    body.push(
        Operation::Return {
            value: Some(zero.into()).into(),
        },
        void,
    );
    let sampler = builder.define("sampler", signature, body.finish());
    builder.declare("callee", signature);
    let info = SiteInfo::new(EventKind::Read, MemoryOrder::Plain, 4);
    builder.site(sampler, InstructionNumber::new(2), info);
    builder.finish()
}

fn global(
    builder: &mut ProgramBuilder,
    name: &str,
    of: TypeNumber,
    initialiser: ConstantNumber,
) -> GlobalNumber {
    let name = builder.text(name);
    builder.program().globals.push(Global {
        name,
        of,
        initialiser: initialiser.into(),
        alignment: 8,
        address_space: 0,
        thread_local: false,
        constant: false,
        address_taken: false,
        exported: true,
    })
}

#[test]
fn sites_have_numbers_and_ids() {
    let program = counter();
    let bump = program.functions_named("bump").next().unwrap();
    assert_eq!(program.sites_of(bump), 0..3);
    let second = program.site_at(bump, InstructionNumber::new(2)).unwrap();
    let id = SiteId {
        function: FunctionId(1),
        index: 1,
    };
    assert_eq!(program.site_id(second), id);
    assert_eq!(program.site_number(id), Some(second));
    assert_eq!(program.site(second).unwrap().kind(), EventKind::Write);
    assert_eq!(program.site_at(bump, InstructionNumber::new(1)), None);
    assert_eq!(program.site_number(SiteId { index: 3, ..id }), None);
}

#[test]
fn only_stored_addresses_are_taken() {
    let program = counter();
    let taken = |name| {
        let mut all = program.globals.values();
        let found = all.find(|global| &program.texts[global.name] == name);
        found.unwrap().address_taken
    };
    assert!(taken("counter"));
    assert!(!taken("where"));
    assert!(
        !program
            .functions
            .values()
            .any(|function| function.address_taken)
    );
    // Constants that are called, with smaller numbers than those that are stored.
    let mut builder = ProgramBuilder::new("e-i64:64");
    let void = builder.type_of(Type::Void);
    let pointer = builder.type_of(Type::Pointer(0));
    let signature = builder.type_of(Type::Function {
        result: void,
        parameters: Box::default(),
        variadic: false,
    });
    let called = builder.declare("called", signature);
    builder.constant(pointer, ConstantValue::Function(called));
    let null = builder.constant(pointer, ConstantValue::Null);
    let stored = global(&mut builder, "stored", pointer, null);
    let address = builder.constant(pointer, ConstantValue::Global(stored));
    global(&mut builder, "place", pointer, address);
    let program = builder.finish();
    assert!(program.globals.values().any(|global| global.address_taken));
    assert!(!program.functions[called].address_taken);
}

#[test]
fn an_instruction_takes_28_bytes() {
    assert!(size_of::<Operation>() <= 20);
    assert!(size_of::<Instruction>() <= 28);
}

#[test]
fn types_are_laid_out_as_on_x86_64() {
    let mut builder = ProgramBuilder::new("e-i64:64-i128:128-f80:128");
    let byte = builder.type_of(Type::Integer(8));
    let wide = builder.type_of(Type::Integer(64));
    let long_double = builder.type_of(Type::Float(FloatKind::X87));
    let fields: Box<[TypeNumber]> = [byte, wide, byte, long_double].into();
    let mut structure = |packed| {
        builder.type_of(Type::Struct {
            fields: fields.clone(),
            packed,
            name: None,
        })
    };
    let (loose, packed) = (structure(false), structure(true));
    let layouts = builder.finish().layouts();
    assert_eq!(*layouts[loose].offsets, [0, 8, 16, 32]);
    assert_eq!((layouts[loose].size, layouts[loose].alignment), (48, 16));
    assert_eq!(*layouts[packed].offsets, [0, 1, 9, 10]);
    assert_eq!((layouts[packed].size, layouts[packed].alignment), (26, 1));
    assert_eq!(layouts[long_double].stored(), 10);
}
