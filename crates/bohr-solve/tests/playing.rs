//! The executor on known values against the compiled program: the same exit code,
//! at every level of optimisation.

#[path = "compiled.rs"]
mod compiled;

use bohr_solve::path::Ending;
use bohr_solve::play::play;
use std::process::Command;

/// Runs both, the model without ever switching a thread that can go on.
fn same_as_native(source: &str, arguments: &[&str]) {
    for level in ["-O0", "-O1", "-O2"] {
        let (program, folder) = compiled::compile(source, level);
        let native = Command::new(folder.path().join("program"))
            .args(arguments)
            .output()
            .unwrap();
        let words: Vec<&str> = ["program"].iter().chain(arguments).copied().collect();
        let played = play(&program, &words, &mut |_: &[usize]| 0, 10_000_000).unwrap();
        assert!(!played.stuck, "{level}");
        let expected = native.status.code().map_or(Ending::Aborted, Ending::Exited);
        assert_eq!(played.run.ending, expected, "{level}");
    }
}

#[test]
fn arithmetic_memory_and_texts() {
    same_as_native(
        r#"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
struct pair { int a; char b; double c; unsigned flag : 3; };
static struct pair table[4] = {{1, 'x', 2.5, 3}, {2, 'y', -1.0, 7}};
static const char *words[] = {"alpha", "beta", "gamma"};
static __thread int counter = 5;
static int sum(int count, ...) {
    va_list list; va_start(list, count);
    int total = 0;
    for (int i = 0; i < count; i++) total += va_arg(list, int);
    va_end(list);
    return total;
}
static unsigned hash(const char *text) {
    unsigned value = 2166136261u;
    while (*text) value = (value ^ (unsigned char)*text++) * 16777619u;
    return value;
}
static int twice(int x) { return 2 * x; }
static int thrice(int x) { return 3 * x; }
int main(int argc, char **argv) {
    int (*functions[])(int) = {twice, thrice};
    unsigned total = 0;
    for (int i = 0; i < 3; i++) total = total * 31 + hash(words[i]);
    struct pair *copy = malloc(sizeof table);
    memcpy(copy, table, sizeof table);
    copy[2] = copy[1];
    copy[2].c *= 3;
    total += (unsigned)(int)(copy[2].c * 100) + copy[0].flag + copy[2].b;
    char text[32] = "abc";
    strcat(text, words[1]);
    total += strlen(text) + (strcmp(text, "abcbeta") == 0) * 7 + atoi(argv[1]);
    total += functions[argc % 2](11) + sum(3, 4, 5, argc) + counter++ + counter;
    int64_t wide = (int64_t)total * -977;
    total ^= (uint32_t)(wide >> 7) + (uint32_t)(wide % 1000);
    float small = total / 3.0f;
    switch (total % 5) { case 0: total += 3; break; case 3: total ^= 9; break; default: total--; }
    return (total ^ (unsigned)small) % 251;
}
"#,
        &["42"],
    );
}

#[test]
fn threads_locks_conditions_and_semaphores() {
    same_as_native(
        r#"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t both = PTHREAD_RWLOCK_INITIALIZER;
static sem_t permits;
static pthread_barrier_t gate;
static atomic_int updates;
static int go, total;
static void *work(void *argument) {
    pthread_mutex_lock(&lock);
    while (!go) pthread_cond_wait(&ready, &lock);
    total += (int)(long)argument;
    pthread_mutex_unlock(&lock);
    pthread_barrier_wait(&gate);
    sem_wait(&permits);
    atomic_fetch_add(&updates, 3);
    sem_post(&permits);
    pthread_rwlock_rdlock(&both);
    long seen = total;
    pthread_rwlock_unlock(&both);
    return (void *)(seen + (long)argument);
}
int main(void) {
    pthread_t threads[3];
    sem_init(&permits, 0, 2);
    pthread_barrier_init(&gate, 0, 3);
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, (void *)(i + 1));
    pthread_mutex_lock(&lock);
    go = 1;
    pthread_cond_broadcast(&ready);
    pthread_mutex_unlock(&lock);
    long sum = 0;
    for (int i = 0; i < 3; i++) { void *result; pthread_join(threads[i], &result); sum += (long)result; }
    return (int)sum + total + updates;
}
"#,
        &[],
    );
}

#[test]
fn repaired_exhibits_end_well() {
    for name in [
        "account",
        "bounded-buffer",
        "ticket-office",
        "sim-race",
        "statistics",
    ] {
        let source = format!("#define FIXED 1\n{}", compiled::exhibit(name));
        let (program, _folder) = compiled::compile(&source, "-O1");
        let mut turn = 0usize;
        let mut chooser = |ready: &[usize]| {
            turn += 1;
            turn / 7 % ready.len()
        };
        let played = play(&program, &["program"], &mut chooser, 10_000_000).unwrap();
        assert!(!played.stuck, "{name}");
        assert_eq!(played.run.ending, Ending::Exited(0), "{name}");
    }
}
