//! Breakpoints where there is no bug yet: from conflicts that runs came by, from a
//! report of ThreadSanitizer, from a finding that nothing failed for.

use crate::controlled;

use controlled::Folder;
use serde_json::Value;
use std::process::Command;

/// A program whose second thread has to come late: it reads what the first one
/// makes. One conflict is to blame, the other is harmless.
const LATE: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready, visits;

static void visit(void) {
    pthread_mutex_lock(&lock);
    visits++;
    pthread_mutex_unlock(&lock);
}

static void *make(void *unused) {
    __atomic_store_n(&ready, 1, __ATOMIC_SEQ_CST); // made
    visit();
    return unused;
}

static void *use(void *unused) {
    assert(__atomic_load_n(&ready, __ATOMIC_SEQ_CST) == 1); // used
    visit();
    return unused;
}

int main(void) {
    pthread_t maker, user;
    pthread_create(&maker, NULL, make, NULL);
    pthread_create(&user, NULL, use, NULL);
    pthread_join(maker, NULL);
    pthread_join(user, NULL);
    return visits == 2 ? 0 : 1;
}
"#;

/// Two threads that count without a lock, plainly.
const RACE: &str = r#"
#include <pthread.h>
#include <stddef.h>

static int counter;

static void *count(void *unused) {
    counter++; // counted
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, count, NULL);
    pthread_create(&second, NULL, count, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
"#;

fn line(source: &str, mark: &str) -> String {
    let found = source.lines().position(|line| line.contains(mark));
    format!("program.c:{}", 1 + found.expect("a line with the mark"))
}

fn built(source: &str) -> Folder {
    let folder = Folder::empty();
    std::fs::write(folder.path("program.c"), source).unwrap();
    let words = ["-g", "-O1", "-pthread", "program.c", "-o", "program"];
    folder.bohr(&[&["cc"], &words[..]].concat()).expect(0);
    folder
}

/// The text of a breakpoint with bare file names.
fn bare(folder: &Folder, text: &str) -> String {
    let file = folder.path("program.c");
    text.replace(file.to_str().expect("a plain path"), "program.c")
}

#[test]
fn the_conflict_that_is_to_blame_is_named() {
    let folder = built(LATE);
    let words = [
        "break",
        "conflicts",
        "--runs",
        "10",
        "--json",
        "--",
        "./program",
    ];
    let told = folder.bohr(&words).expect(1).json();
    let (made, used) = (line(LATE, "// made"), line(LATE, "// used"));
    let suspicious = told["suspicious"].as_str().unwrap_or_default();
    let bare = bare(&folder, suspicious);
    assert!(bare.starts_with(&format!("{used} -> {made}")), "{told}");
    for conflict in told["conflicts"].as_array().unwrap() {
        assert_eq!(conflict["orders"].as_array().unwrap().len(), 2, "{told}");
        for order in conflict["orders"].as_array().unwrap() {
            assert_eq!(order["runs"], 10, "{told}");
        }
    }
    let kinds: Vec<&Value> = told["conflicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|conflict| &conflict["contention"])
        .collect();
    assert!(kinds.contains(&&Value::from("lock")), "{told}");
}

#[test]
fn the_table_of_conflicts_has_a_line_per_order() {
    let folder = built(LATE);
    let words = ["break", "conflicts", "--runs", "5", "--", "./program"];
    let table = folder.bohr(&words).expect(1).text();
    let heading = table.lines().next().unwrap_or_default();
    assert!(
        heading.contains("failure %") && heading.contains("BP hit %"),
        "{table}"
    );
    let marked: Vec<&str> = table
        .lines()
        .filter(|line| line.contains("<- suspicious"))
        .collect();
    assert_eq!(marked.len(), 1, "{table}");
    assert!(
        table
            .lines()
            .last()
            .unwrap_or_default()
            .starts_with("suspicious: "),
        "{table}"
    );
}

#[test]
fn a_program_without_conflicts_has_no_suspect() {
    let folder = built("int main(void) { return 0; }\n");
    let words = [
        "break",
        "conflicts",
        "--runs",
        "3",
        "--look",
        "3",
        "--",
        "./program",
    ];
    let table = folder.bohr(&words).expect(0).text();
    assert!(table.contains("no conflict is suspicious"), "{table}");
}

#[test]
fn a_report_of_thread_sanitizer_becomes_a_breakpoint() {
    let folder = built(RACE);
    let mut compiler = Command::new("clang-22");
    compiler.args(["-g", "-O1", "-pthread", "-fsanitize=thread", "program.c"]);
    compiler
        .args(["-o", "sanitized"])
        .current_dir(folder.path(""));
    assert!(compiler.status().unwrap().success());
    // The sanitizer does not know every way in which a system randomises addresses.
    let mut command = Command::new("setarch");
    command.args(["--addr-no-randomize", "./sanitized"]);
    let output = command.current_dir(folder.path("")).output().unwrap();
    std::fs::write(folder.path("report.txt"), &output.stderr).unwrap();
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(report.contains("data race"), "{report}");

    let words = [
        "break",
        "tsan",
        "report.txt",
        "--runs",
        "25",
        "--json",
        "--",
        "./program",
    ];
    let told = folder.bohr(&words).expect(0).json();
    let text = told["breakpoints"][0]["expression"]
        .as_str()
        .unwrap_or_default();
    let counted = line(RACE, "// counted");
    let expected = format!("{counted} -> {counted} if same-object");
    assert!(bare(&folder, text).starts_with(&expected), "{told}");
    assert_eq!(told["kind"], "race", "{told}");
    assert_eq!(told["hits"], told["runs"], "{told}");
    assert!(
        folder
            .path(told["patch_file"].as_str().unwrap_or_default())
            .exists(),
        "{told}"
    );

    let second = [
        "break",
        "tsan",
        "report.txt",
        "--warning",
        "9",
        "--",
        "./program",
    ];
    let refused = folder.bohr(&second).expect(2).messages();
    assert!(refused.contains("no 9"), "{refused}");
    let other = ["break", "tsan", "program.c", "--", "./program"];
    let refused = folder.bohr(&other).expect(2).messages();
    assert!(
        refused.contains("no report of ThreadSanitizer"),
        "{refused}"
    );
}

#[test]
fn a_finding_without_a_failure_becomes_a_breakpoint() {
    let folder = built(RACE);
    let hunt = [
        "hunt",
        "--races",
        "fail",
        "-o",
        "race.bohr",
        "--",
        "./program",
    ];
    folder.bohr(&hunt).expect(1);
    let words = [
        "break",
        "from",
        "race.bohr",
        "--finding",
        "1",
        "--runs",
        "25",
        "--json",
    ];
    let told = folder.bohr(&words).expect(0).json();
    let counted = line(RACE, "// counted");
    let text = told["breakpoints"][0]["expression"]
        .as_str()
        .unwrap_or_default();
    assert!(bare(&folder, text).starts_with(&counted), "{told}");
    assert_eq!(told["hits"], told["runs"], "{told}");
    let beyond = ["break", "from", "race.bohr", "--finding", "99"];
    let refused = folder.bohr(&beyond).expect(2).messages();
    assert!(refused.contains("there is no finding 99"), "{refused}");
}
