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
