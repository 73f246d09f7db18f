//! Threads store the word that tells their way before anything happens that can fail or
//! be noticed, and not before.

mod support;

use bohr_instrument::paths::stores;
use bohr_program::{BlockNumber, Body, Operation, Program};
use support::program_with;

const SOURCE: &str = "
    int shared;
    void outside(int *);
    int computes(unsigned n) {
        int steps = 0;
        while (n != 1) { if (n & 1) n = 3 * n + 1; else n >>= 1; steps++; }
        return steps;
    }
    int reads(const int *list, int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) if (list[i] > 3) sum++;
        return sum;
    }
    int divides(int a, int b) { int r = 0; if (a > 3) r = a / b; return r; }
    void writes(int n) { if (n > 3) shared = n; if (n > 5) shared = n + 1; }
    int shows(int n) { int own = 0; if (n > 3) own = 1; outside(&own); return own; }
";

fn body<'p>(program: &'p Program, name: &str) -> &'p Body {
    let mut bodies = program.bodies();
    let found = bodies.find(|(_, function, _)| &program.texts[function.name] == name);
    found.expect("a function of this name").2
}

/// Blocks of a function in which the word is stored, and those with such an operation.
fn stored_and(
    program: &Program,
    name: &str,
    noticed: impl Fn(&Operation) -> bool,
) -> (Vec<BlockNumber>, Vec<BlockNumber>) {
    let body = body(program, name);
    let stored = stores::blocks(program, body);
    let has = |block: BlockNumber| body.block(block).any(|(_, one)| noticed(&one.operation));
    let blocks = || body.blocks.keys();
    (
        blocks().filter(|block| stored.contains(*block)).collect(),
        blocks().filter(|block| has(*block)).collect(),
    )
}

#[test]
fn words_are_stored_before_what_can_fail_or_be_noticed_and_not_before() {
    // Without optimisation, so that branches are branches and variables are on the stack.
    let program = program_with("stores.c", SOURCE, &["-O0"]);
    let returns = |operation: &Operation| matches!(operation, Operation::Return { .. });

    let (stored, noticed) = stored_and(&program, "computes", returns);
    assert_eq!(stored, noticed);
    assert_eq!(stored.len(), 1);

    // The list is read at an address that is the result of a computation.
    let (stored, noticed) = stored_and(&program, "reads", |operation| {
        returns(operation) || matches!(operation, Operation::ElementPointer { .. })
    });
    assert_eq!(stored, noticed);

    let (stored, noticed) = stored_and(&program, "divides", |operation| {
        let division = bohr_program::BinaryOperator::SignedDivide;
        returns(operation)
            || matches!(operation, Operation::Binary { operator, .. } if *operator == division)
    });
    assert_eq!(stored, noticed);
    assert_eq!(stored.len(), 2);

    let (stored, noticed) = stored_and(&program, "writes", |operation| {
        let shared = |address: &bohr_program::Value| address.constant().is_some();
        returns(operation)
            || matches!(operation, Operation::Store { address, .. } if shared(address))
    });
    assert_eq!(stored, noticed);
    assert_eq!(stored.len(), 3);

    // Others know the variable, so what is stored there may be noticed: only the first
    // block, before which nothing was written, goes without.
    let body = body(&program, "shows");
    let (stored, _) = stored_and(&program, "shows", returns);
    assert_eq!(stored.len(), body.blocks.len() - 1);
}
