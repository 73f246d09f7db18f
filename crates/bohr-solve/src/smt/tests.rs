//! What z3 makes of scripts, against what our own solver and evaluation say.

use super::script;
use super::term::{Words, declare, known, read};
use crate::event::Problem;
use crate::order::tests::{Do, Maker, by_order, demand, operation, places};
use crate::term::{Evaluation, Operator, ReadNumber, Scalar, Terms};
use bohr_event::MemoryModel;
use bohr_program::interpret::arithmetic::Number;
use bohr_program::{BinaryOperator, CastOperator, IntegerPredicate, UpdateOperator};
use cranelift_entity::EntityRef;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

/// Whether z3 finds a model.
fn is_satisfiable(text: &str) -> bool {
    let mut z3 = Command::new("z3")
        .args(["-in", "-T:60"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("z3, which `cargo xtask test` installs");
    let mut input = z3.stdin.take().expect("a pipe");
    input.write_all(text.as_bytes()).expect("z3 reads");
    drop(input);
    let output = z3.wait_with_output().expect("z3 ends");
    let said = String::from_utf8_lossy(&output.stdout);
    match said.lines().next() {
        Some("sat") => true,
        Some("unsat") => false,
        _ => panic!("z3 says {said}\nof {text}"),
    }
}

fn by_z3(problem: &Problem, model: MemoryModel, bound: Option<usize>) -> bool {
    is_satisfiable(&script(problem, model, bound).expect("everything has its words"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn z3_comes_to_the_same_verdict(
        threads in prop::collection::vec(prop::collection::vec(operation(), 1..4), 2..3),
        expected in prop::collection::vec(prop::option::of(0u64..4), 8),
    ) {
        for model in MemoryModel::ALL {
            let (mut problem, values) = Maker::of(&threads, &places());
            demand(&mut problem, &values, &expected);
            let theirs = by_z3(&problem, model, None);
            prop_assert_eq!(by_order(&mut problem, model), theirs, "{}", model);
        }
    }
}

#[test]
fn the_bound_on_preemptions_is_the_solvers() {
    let [place, _] = places();
    let update = || vec![Do::Read(place), Do::Pass(place, 1)];
    let (mut problem, values) = Maker::of(&[update(), update()], &[place]);
    demand(&mut problem, &values, &[None, None, Some(1)]);
    let model = MemoryModel::SequentiallyConsistent;
    for bound in 0..3 {
        let solved = crate::order::solve(&mut problem, model, Some(bound), &|| true);
        let solved = matches!(solved.unwrap().answer, crate::order::Answer::Order(_));
        assert_eq!(by_z3(&problem, model, Some(bound)), solved, "{bound}");
        assert_eq!(solved, bound > 0);
    }
}

/// Operators with operands of so many bits.
fn operators(bits: u32) -> Vec<(Operator, usize)> {
    use BinaryOperator::*;
    let number = Number::Integer(bits);
    let two = [Add, Subtract, Multiply, And, Or, ExclusiveOr].into_iter();
    let two = two.map(|operator| Operator::Binary(operator, number));
    let compared = IntegerPredicate::ALL.iter();
    let compared = compared.map(|predicate| Operator::CompareIntegers(*predicate, bits));
    let updates = [
        UpdateOperator::Exchange,
        UpdateOperator::Nand,
        UpdateOperator::SignedMaximum,
        UpdateOperator::SignedMinimum,
        UpdateOperator::UnsignedMaximum,
        UpdateOperator::UnsignedMinimum,
    ];
    let updates = updates.map(|operator| Operator::Update(operator, number));
    let told = ["sadd", "uadd", "ssub", "usub"]
        .into_iter()
        .flat_map(|name| {
            [
                Operator::Wrapped(name.into(), bits),
                Operator::Overflows(name.into(), bits),
            ]
        });
    let half = Number::Integer(bits / 2);
    let one = [
        Operator::Cast(CastOperator::SignExtend, number, Number::Integer(2 * bits)),
        Operator::Cast(CastOperator::Truncate, number, half),
        Operator::Slice { shift: 3, bits: 4 },
    ];
    let two = two.chain(compared).chain(updates).chain(told);
    let two = two
        .chain([Operator::Join(bits)])
        .map(|operator| (operator, 2));
    two.chain(one.map(|operator| (operator, 1)))
        .chain([(Operator::Select, 3)])
        .collect()
}

/// Operators whose right side has to be known.
fn by_known(bits: u32) -> Vec<(Operator, u64)> {
    use BinaryOperator::*;
    let all = [
        (ShiftLeft, 3),
        (LogicalShiftRight, 3),
        (ArithmeticShiftRight, 3),
        (UnsignedDivide, 7),
        (SignedDivide, 7),
        (UnsignedRemainder, 7),
        (SignedRemainder, 7),
    ];
    let of = |(operator, by)| (Operator::Binary(operator, Number::Integer(bits)), by);
    all.map(of).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn terms_mean_what_they_come_to(values: [u64; 3]) {
        let mut terms = Terms::default();
        let reads = [0, 1, 2].map(ReadNumber::new);
        let all = reads.map(|number| terms.read(number));
        let mut made: Vec<Scalar> = Vec::new();
        for bits in [8u32, 32] {
            let small: Vec<Scalar> = all
                .map(|value| terms.compute(Operator::Slice { shift: 0, bits }, &[value]).unwrap())
                .to_vec();
            for (operator, count) in operators(bits) {
                made.push(terms.compute(operator, &small[..count]).unwrap());
            }
            for (operator, by) in by_known(bits) {
                made.push(terms.compute(operator, &[small[0], by.into()]).unwrap());
            }
        }
        let mut words = Words::new(&terms);
        let sizes: BTreeMap<ReadNumber, u32> = reads.map(|number| (number, 8)).into();
        for value in &made {
            words.define(*value, &sizes).unwrap();
        }
        let mut text = words.text.clone();
        for number in reads.into_iter().filter(|number| !words.has_read(*number)) {
            text.push_str(&declare(number, 8));
        }
        for (number, value) in reads.into_iter().zip(values) {
            text.push_str(&format!("(assert (= {} {}))\n", read(number), known(value.into())));
        }
        let mut evaluation = Evaluation::default();
        let given = |number: ReadNumber| Some(u128::from(values[number.index()]));
        let differ: Vec<String> = made.iter().map(|value| {
            let result = terms.evaluate(*value, &mut evaluation, &given).unwrap();
            format!("(distinct {} {})", known(*value), known(Scalar::Known(result)))
        }).collect();
        text.push_str(&format!("(assert (or {}))\n(check-sat)\n", differ.join(" ")));
        prop_assert!(!is_satisfiable(&text), "{}", text);
    }
}
