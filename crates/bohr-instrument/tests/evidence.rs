//! What real compilers' debug information says about the objects that accesses
//! touch, with and without optimisation. Each line of a source that is looked at
//! says what has to be found there: `// type+offset` of the outermost object, or
//! `// pointer` and `// variable` by which one gets to something nameless; or, behind
//! `not`, what must not.

#[path = "lowering/support.rs"]
mod support;

use bohr_program::{Evidence, Origin, Program, SiteNumber, SourceType};
use support::{Source, lower};

/// What the evidence says, as sources write it.
fn told(program: &Program, evidence: &Evidence) -> String {
    match (&program.source_types[evidence.of], evidence.from) {
        (SourceType::Structure { name, .. }, _) => {
            format!("{}+{}", &program.texts[*name], evidence.offset)
        }
        (_, Origin::Pointer(name)) => format!("*{}", &program.texts[name]),
        (_, Origin::Variable(name)) => program.texts[name].to_string(),
        (_, Origin::Field(of, offset)) => match &program.source_types[of] {
            SourceType::Structure { name, .. } => format!("->{}+{offset}", &program.texts[*name]),
            _ => "->?".to_string(),
        },
        (_, Origin::Element(name, Some(index))) => {
            format!("{}[{index}]", &program.texts[name])
        }
        (_, Origin::Element(name, None)) => format!("{}[]", &program.texts[name]),
        (_, Origin::Called) => "()".to_string(),
    }
}

/// The line of a site in the outermost function that it was put into, and what
/// is known about its object.
fn sites(program: &Program) -> Vec<(u32, Vec<String>)> {
    let layouts = program.layouts();
    let site = |number: SiteNumber| {
        let instruction = program.instruction_of(&program.sites[number]);
        let mut location = &program.locations[instruction.location.expand()?];
        while let Some(outer) = location.inlined_at.expand() {
            location = &program.locations[outer];
        }
        let line = location.line;
        let evidence = program.evidence(&layouts, number);
        Some((
            line,
            evidence.iter().map(|one| told(program, one)).collect(),
        ))
    };
    program.sites.keys().filter_map(site).collect()
}

/// Every line with an expectation has a site that meets it.
fn expect(source: &str, compiled: Source<'_>) {
    let program = lower(&[compiled]).program;
    let sites = sites(&program);
    for (number, line) in (1..).zip(source.lines()) {
        let Some((_, expected)) = line.split_once("// ") else {
            continue;
        };
        let here: Vec<&Vec<String>> = sites
            .iter()
            .filter(|site| site.0 == number)
            .map(|site| &site.1)
            .collect();
        let told = |expected: &str| {
            here.iter()
                .any(|told| told.iter().any(|one| one == expected))
        };
        match expected.strip_prefix("not ") {
            Some(wrong) => assert!(!told(wrong), "line {number}: {wrong} is among {here:?}"),
            None => assert!(
                told(expected),
                "line {number}: {expected} is not among {here:?}"
            ),
        }
    }
}

const C: &str = r"
struct cell { int pad; int value; struct cell *next; };
typedef struct { long size; struct cell cells[4]; } box;
void set(struct cell *cell) {
    cell->value = 1; // cell+4
}
void all(box *box, long from) {
    for (long i = from; i < 4; i++)
        box->cells[i].value += i; // cell+4
}
int chain(const struct cell *first) {
    return first->next->value; // cell+4
}
void plain(volatile int *seen) {
    *seen = 3; // *seen
}
static int *table;
void give(int *given) {
    table = given;
    given[2] = 4; // given[2]
}
void fill(long at) {
    table[3] = 1; // table[3]
    table[at] = 2; // table[]
    __builtin_memset(table + 5, 0, 80); // table[5]
}
struct head { long size; };
struct whole { struct head head; long body; };
void behind(struct head *head) {
    ((struct whole *)head)->body = 1; // not head+0
}
";

#[test]
fn structures_of_c() {
    expect(C, Source::c(C).with(&["-g", "-O2"]));
}

#[test]
fn structures_of_c_as_they_were_written() {
    // The pointers themselves lie on the stack here, so a load tells of them.
    expect(C, Source::c(C).with(&["-g", "-O0"]));
}

const CPP: &str = r"
#include <atomic>
#include <vector>
struct Base { long first; };
class Floor : Base {
    std::atomic<bool> waiting;
    std::vector<int> values;
public:
    void call();
    int sum();
};
void Floor::call() {
    waiting = true; // Floor+8
}
int Floor::sum() {
    int sum = 0;
    for (unsigned i = 0; i < 3; i++)
        sum += values.data()[i];
    return sum + values.size() + first; // Floor+0
}
";

#[test]
fn classes_of_cpp() {
    expect(CPP, Source::cpp(CPP).with(&["-O1", "-std=c++20"]));
}

/// Without optimisation, even a pointer is reached through calls.
const CALLED_IN_CPP: &str = r"
#include <memory>
#include <vector>
struct Item { long pad; int count; };
class Shelf {
    std::vector<Item> items;
    int size;
public:
    int &room();
    void fill(unsigned at);
    void clear();
};
int &Shelf::room() {
    return size;
}
void Shelf::fill(unsigned at) {
    items[at].count = 1; // Item+8
}
void Shelf::clear() {
    room() = 0; // Shelf+24
}
void shared(std::shared_ptr<Item> item) {
    item->count = 2; // Item+8
}
void owned(std::unique_ptr<Item> &item) {
    item->count = 3; // Item+8
}
";

#[test]
fn what_calls_of_cpp_lead_to() {
    let compiled = Source::cpp(CALLED_IN_CPP).with(&["-O0", "-std=c++20"]);
    expect(CALLED_IN_CPP, compiled);
}

const CALLED_IN_RUST: &str = r"
use std::cell::UnsafeCell;
use std::sync::Arc;
#[repr(C)]
pub struct Account { id: u64, balance: UnsafeCell<i64> }
#[unsafe(no_mangle)]
pub fn deposit(account: &Account) {
    /* SAFETY: this is only compiled. */
    unsafe { *account.balance.get() = 1 } // Account+8
}
#[unsafe(no_mangle)]
pub fn through(account: &Arc<Account>) -> u64 {
    account.id // ArcInner<source::Account>+16
}
#[unsafe(no_mangle)]
pub fn boxed(accounts: &mut Vec<Account>) {
    accounts[1].id = 3; // Account+0
}
";

#[test]
fn what_calls_of_rust_lead_to() {
    expect(CALLED_IN_RUST, Source::rust(CALLED_IN_RUST).with(&["-g"]));
}

const RUST: &str = r"
use std::sync::atomic::{AtomicU32, Ordering};
#[repr(C)]
pub struct Channel { sent: u64, closed: AtomicU32 }
#[unsafe(no_mangle)]
pub fn send(channel: &mut Channel) {
    channel.sent = 7; // Channel+0
}
#[unsafe(no_mangle)]
pub fn deep(channels: &[&Channel; 2]) -> u64 {
    channels[1].sent // Channel+0
}
";

#[test]
fn structures_of_rust() {
    expect(RUST, Source::rust(RUST).with(&["-g", "-O"]));
}
