/* Records every load and store that clang's coverage instrumentation reports,
 * once a second thread exists, and prints those of bytes that two threads
 * touched, at least one of them writing: "PC" per line.
 *
 * Memory is never given back, so that an address means the same thing all the
 * time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct access { uintptr_t address, pc; int size, thread, writes; };

enum { ROOM = 1 << 16 };
static struct access accesses[ROOM];
static int count, started, threads;
static _Thread_local int self;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(void *address, int size, int writes, void *pc) {
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE)) return;
    pthread_mutex_lock(&lock);
    if (!self) self = ++threads;
    if (count < ROOM)
        accesses[count++] = (struct access){ (uintptr_t)address, (uintptr_t)pc, size, self, writes };
    pthread_mutex_unlock(&lock);
}

#define CALLBACK(SIZE) \
    void __sanitizer_cov_load##SIZE(void *p) { note(p, SIZE, 0, __builtin_return_address(0)); } \
    void __sanitizer_cov_store##SIZE(void *p) { note(p, SIZE, 1, __builtin_return_address(0)); }
CALLBACK(1) CALLBACK(2) CALLBACK(4) CALLBACK(8) CALLBACK(16)

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *p) {
    __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
    return __real_pthread_create(t, a, f, p);
}

void __wrap_free(void *memory) { (void)memory; }

static int conflict(const struct access *a, const struct access *b) {
    return a->thread != b->thread && (a->writes || b->writes)
        && a->address < b->address + b->size && b->address < a->address + a->size;
}

__attribute__((destructor)) static void report(void) {
    __atomic_store_n(&started, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            if (conflict(&accesses[i], &accesses[j])) {
                dprintf(STDERR_FILENO, "conflict %#lx\n", (unsigned long)accesses[i].pc);
                break;
            }
    if (count == ROOM) dprintf(STDERR_FILENO, "full\n");
}
