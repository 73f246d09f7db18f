//! Real compilers' output, lowered, against what the model has to say.

mod support;

use bohr_event::{EventKind, MemoryOrder};
use bohr_program::{Language, Program};
use support::{Source, lower};

/// The text of a function whose name is unique.
fn shown(program: &Program, name: &str) -> String {
    let function = program
        .functions_named(name)
        .next()
        .expect("a function of that name");
    program.show_function(function).to_string()
}

fn expect(source: Source<'_>, function: &str, expected: &str) {
    let lowered = lower(&[source]);
    assert!(lowered.opaque.is_empty(), "{:?}", lowered.opaque);
    let unindented: String = expected
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| format!("{}\n", line.strip_prefix("        ").unwrap_or(line)))
        .collect();
    assert_eq!(shown(&lowered.program, function), unindented);
}

#[test]
fn a_loop_in_c() {
    expect(
        Source::c("int sum(int *p, int n) { int s = 0; while (n--) s += p[n]; return s; }")
            .with(&["-O1", "-fno-unroll-loops"]),
        "sum",
        "
        sum i32 (ptr, i32)
        b0:
          i0 = icmp eq arg1, 0
          br i0, b3, b1
        b1:
          i2 = sext arg1 to i64
          br b2
        b2:
          i4 = phi i64 [b1, i2], [b2, i6]
          i5 = phi i32 [b1, 0], [b2, i9]
          i6 = add no_signed_wrap i64 i4, -1
          i7 = getelementptr inbounds no_unsigned_signed_wrap i32, arg0, i6
          i8 = load i32, i7
          i9 = add no_signed_wrap i32 i8, i5
          i10 = icmp eq i6, 0
          br i10, b3, b2
        b3:
          i12 = phi i32 [b0, 0], [b2, i9]
          ret i12
        ",
    );
}

#[test]
fn atomics_in_c() {
    let source = "
        #include <stdatomic.h>
        _Atomic int x;
        int update(int *e) {
            atomic_fetch_add_explicit(&x, 1, memory_order_relaxed);
            atomic_thread_fence(memory_order_acquire);
            atomic_compare_exchange_weak_explicit(&x, e, 2, memory_order_acq_rel, memory_order_acquire);
            return atomic_load(&x);
        }";
    let lowered = lower(&[Source::c(source).with(&["-O1"])]);
    let program = lowered.program;
    let shown = shown(&program, "update");
    for expected in [
        "update relaxed add @x, 1",
        "fence acquire",
        "cmpxchg weak acquirerelease acquire @x, ",
        "load sequentiallyconsistent i32, @x",
    ] {
        assert!(shown.contains(expected), "{expected:?} is not in\n{shown}");
    }
    let sites: Vec<_> = program
        .sites
        .values()
        .map(|site| (site.kind(), site.order()))
        .collect();
    assert_eq!(
        sites,
        [
            (EventKind::Update, MemoryOrder::Relaxed),
            (EventKind::Fence, MemoryOrder::Acquire),
            (EventKind::Read, MemoryOrder::Plain),
            (EventKind::Update, MemoryOrder::AcquireRelease),
            (EventKind::Write, MemoryOrder::Plain),
            (EventKind::Read, MemoryOrder::SequentiallyConsistent),
        ]
    );
}

#[test]
fn switch_and_computed_goto() {
    expect(
        Source::c("int pick(int n) { static void *t[] = {&&a, &&b}; goto *t[n]; a: return 1; b: return 2; }")
            .with(&["-O0"]),
        "pick",
        "
        pick i32 (i32)
        b0:
          i0 = alloca i32, 1, align 4
          i1 = alloca i32, 1, align 4
          store arg0, i1
          i3 = load i32, i1
          i4 = sext i3 to i64
          i5 = getelementptr inbounds no_unsigned_signed_wrap [2 x ptr], @pick.t, 0, i4
          i6 = load ptr, i5
          br b4
        b1:
          store 1, i0
          br b3
        b2:
          store 2, i0
          br b3
        b3:
          i12 = load i32, i0
          ret i12
        b4:
          i14 = phi ptr [b0, i6]
          indirectbr i14 [b1, b2]
        ",
    );
    expect(
        Source::c("void f(void), g(void); void pick(unsigned char n) { switch (n) { case 3: f(); break; case 200: g(); } }")
            .with(&["-O1"]),
        "pick",
        "
        pick void (i8)
        b0:
          switch arg0, b3 [3: b1, -56: b2]
        b1:
          call void @f()
          br b3
        b2:
          call void @g()
          br b3
        b3:
          ret
        ",
    );
}

#[test]
fn exceptions_in_cpp() {
    let source =
        "int may(int); int guarded(int n) { try { return may(n); } catch (int e) { return e; } }";
    let lowered = lower(&[Source::cpp(source).with(&["-O1"])]);
    let program = lowered.program;
    let shown = shown(&program, "_Z7guardedi");
    for expected in [
        "invoke i32 @_Z3mayi(arg0) to b",
        "landingpad catch @_ZTIi",
        "resume ",
    ] {
        assert!(shown.contains(expected), "{expected:?} is not in\n{shown}");
    }
    let guarded = program.functions_named("_Z7guardedi").next().unwrap();
    assert_eq!(program.language(guarded), Language::Cpp);
    let personality = program.functions[guarded].personality.expand().unwrap();
    assert_eq!(
        &program.texts[program.functions[personality].name],
        "__gxx_personality_v0"
    );
}

#[test]
fn places_tell_the_inline_chain() {
    let source = "\
static inline int inner(int *p) { return *p; }
static inline int outer(int *p) {
    return inner(p) + 1;
}
int top(int *p) { return outer(p); }
";
    let lowered = lower(&[Source::c(source).with(&["-O1", "-g"])]);
    let program = lowered.program;
    let (_, site) = program.sites.iter().next().unwrap();
    let mut place = program.instruction_of(site).location.expand();
    let mut chain = Vec::new();
    while let Some(number) = place {
        let location = &program.locations[number];
        let name = program.texts[program.scopes[location.scope].name].to_string();
        chain.push((name, location.line, location.column));
        place = location.inlined_at.expand();
    }
    let expected = [("inner", 1, 42), ("outer", 3, 12), ("top", 5, 26)];
    assert_eq!(
        chain,
        expected.map(|(name, line, column)| (name.to_string(), line, column))
    );
    assert_eq!(program.language(site.function), Language::C);
}

#[test]
fn constants_of_every_kind() {
    let source = "
        __int128 wide = ((__int128)-5 << 64) + 7;
        long double extended = 1.5L;
        double number = -0.0;
        char text[4] = \"ab\";
        struct { char tag; int *to; } pair = { 1, (int *)&wide + 1 };
        long distance = 3;
        extern int elsewhere;
        int *outside = &elsewhere;
        __thread int own = 4;
        float vector __attribute__((vector_size(8))) = { 1.0f, 2.0f };";
    let program = lower(&[Source::c(source).with(&["-O0"])]).program;
    let initial = |name: &str| {
        let mut all = program.globals.values();
        let global = all
            .find(|global| &program.texts[global.name] == name)
            .unwrap();
        let initialiser = global.initialiser.expand();
        let text = initialiser.map(|value| program.show_constant(value).to_string());
        (global.thread_local, text.unwrap_or_else(|| "none".into()))
    };
    let plain = |text: &str| (false, text.to_string());
    assert_eq!(initial("wide"), plain("0xfffffffffffffffb0000000000000007"));
    assert_eq!(
        initial("extended"),
        plain("0x0000000000003fffc000000000000000")
    );
    assert_eq!(initial("number"), plain("-0.0"));
    assert_eq!(initial("text"), plain("c\"ab\\x00\\x00\""));
    assert_eq!(initial("pair"), plain("{1, zero, (i8, @wide, 4)}"));
    assert_eq!(initial("outside"), plain("@elsewhere"));
    assert_eq!(initial("elsewhere"), plain("none"));
    assert_eq!(initial("own"), (true, "4".to_string()));
    assert_eq!(
        initial("vector"),
        plain("c\"\\x00\\x00\\x80?\\x00\\x00\\x00@\"")
    );
}

#[test]
fn rust_with_panics_and_threads() {
    let source = "
        use std::sync::{Arc, Mutex};
        pub fn main() {
            let total = Arc::new(Mutex::new(vec![1u64, 2, 3]));
            let other = Arc::clone(&total);
            let worker = std::thread::spawn(move || other.lock().unwrap().iter().sum::<u64>());
            let caught = std::panic::catch_unwind(|| total.lock().unwrap()[7]);
            println!(\"{:?} {}\", worker.join().unwrap(), caught.is_err());
        }";
    for optimisation in ["-Copt-level=0", "-Copt-level=2"] {
        let lowered = lower(&[Source::rust(source).with(&[optimisation, "-g"])]);
        assert!(lowered.opaque.is_empty(), "{:?}", lowered.opaque);
        let program = lowered.program;
        let rust = program
            .bodies()
            .filter(|(number, ..)| program.language(*number) == Language::Rust);
        assert!(rust.count() > 20);
    }
}
