//! Every access has a number, with kind, order and size as the source wrote them.

mod support;

use bohr_event::{EventKind, MemoryOrder};
use bohr_instrument::inkwell::context::Context;
use bohr_instrument::merge::merge;
use bohr_instrument::sites::ModuleSites;
use support::compile;

/// `kind order size` of each site of the only function that is kept.
fn sites(name: &str, source: &str, flags: &[&str]) -> Vec<String> {
    let directory = tempfile::tempdir().expect("directory");
    let part = compile(directory.path(), name, source, flags);
    let context = Context::create();
    let merged = merge(&context, &[part.part()], &|name| name == "f").expect("merges");
    let sites = ModuleSites::of(&merged.module);
    assert_eq!(sites.infos().count(), sites.count() as usize);
    sites
        .infos()
        .map(|info| {
            let kind = info.kind().expect("known kind");
            let order = info.order().expect("known order");
            let size = if info.size() == u16::MAX {
                "?".to_string()
            } else {
                info.size().to_string()
            };
            let order = if order == MemoryOrder::Plain {
                String::new()
            } else {
                format!(" {order:?}")
            };
            format!("{kind}{order} {size}")
        })
        .collect()
}

#[test]
fn fences_may_be_written_in_assembly_and_signal_fences_are_none() {
    let source = "#include <stdatomic.h>
        extern int x;
        void f(void) {
            x = 1;
            __asm__ volatile(\"mfence\" ::: \"memory\");
            __asm__ volatile(\"\" ::: \"memory\");
            atomic_signal_fence(memory_order_seq_cst);
            __builtin_ia32_mfence();
            __asm__ volatile(\"lock; addl $0,0(%%rsp)\" ::: \"memory\", \"cc\");
            __asm__ volatile(\"pause\" ::: \"memory\");
        }";
    let fence = "fence SequentiallyConsistent 0";
    let expected = ["write 4", fence, fence, fence];
    assert_eq!(sites("f.c", source, &["-O1"]), expected);
}

#[test]
fn loads_stores_and_atomics_in_layout_order() {
    let source = "#include <stdatomic.h>
        extern int x; extern volatile short v; extern _Atomic long a; extern char c;
        long f(long n) {
            c = (char)x; v = 1;
            atomic_store_explicit(&a, n, memory_order_release);
            atomic_fetch_add_explicit(&a, 1, memory_order_relaxed);
            atomic_thread_fence(memory_order_seq_cst);
            return atomic_compare_exchange_strong(&a, &n, 7);
        }";
    let expected = [
        "read 4",
        "write 1",
        "write Unordered 2",
        "write Release 8",
        "update Relaxed 8",
        "fence SequentiallyConsistent 0",
        "update SequentiallyConsistent 8",
    ];
    assert_eq!(sites("f.c", source, &["-O1"])[..7], expected);
}

#[test]
fn memory_functions_and_synchronising_calls() {
    let source = "#include <string.h>\n#include <pthread.h>\n#include <stdlib.h>
        extern pthread_mutex_t m;
        void *f(char *to, const char *from, unsigned long n) {
            pthread_mutex_lock(&m);
            memcpy(to, from, n); memset(to, 1, n);
            pthread_mutex_unlock(&m);
            return malloc(memcmp(to, from, n) == 0);
        }";
    let with_intrinsics = sites("f.c", source, &["-O1"]);
    assert_eq!(
        with_intrinsics,
        [
            "acquire 0",
            "write ?",
            "write ?",
            "release 0",
            "read ?",
            "alloc 0"
        ]
    );
    assert_eq!(
        sites("f.c", source, &["-O1", "-fno-builtin"]),
        with_intrinsics
    );
}

#[test]
fn functions_on_text_touch_what_they_are_given() {
    let source = "#include <string.h>\n#include <stdio.h>
        unsigned long f(char *to, const char *from) {
            strcpy(to, from); sprintf(to, from, 1);
            return strlen(to) + (unsigned long)strcmp(to, from) + (unsigned long)puts(to);
        }";
    assert_eq!(
        sites("f.c", source, &["-O0", "-fno-builtin"])[4..],
        [
            "write ?", "read 8", "read 8", "write ?", "read 8", "read ?", "read 8", "read 8",
            "read ?", "read 8", "read ?"
        ]
    );
}

#[test]
fn functions_with_a_limit_touch_what_they_are_given() {
    let source = "#include <string.h>\n#include <stdio.h>\n#include <stdlib.h>
        long f(char *to, const char *from, unsigned long limit) {
            strncpy(to, from, limit);
            snprintf(to, limit, from);
            return strncmp(to, from, 4) + (memchr(to, 1, limit) != 0) + strtol(to, 0, 0);
        }";
    let found = sites("f.c", source, &["-O1", "-fno-builtin"]);
    assert_eq!(found, ["write ?", "write ?", "read ?", "read ?", "read ?"]);
}

#[test]
fn numbers_go_by_function_id_and_are_dense() {
    let directory = tempfile::tempdir().expect("directory");
    let source = "extern int x; int g(void) { return x; } int f(void) { x = 1; return x + g(); }";
    let part = compile(directory.path(), "f.c", source, &["-O0"]);
    let context = Context::create();
    let merged = merge(&context, &[part.part()], &|name| name == "f").expect("merges");
    let sites = ModuleSites::of(&merged.module);
    assert!(
        sites
            .functions
            .windows(2)
            .all(|pair| pair[0].id < pair[1].id)
    );
    let numbers: Vec<u32> = sites
        .functions
        .iter()
        .flat_map(|function| function.numbered().map(|(number, _, _)| number.0))
        .collect();
    assert_eq!(numbers, (0..sites.count()).collect::<Vec<u32>>());
    assert_eq!(
        sites
            .infos()
            .filter(|info| info.kind() == Some(EventKind::Write))
            .count(),
        1
    );
}
