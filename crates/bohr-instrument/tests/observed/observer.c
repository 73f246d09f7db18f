/* Records every load and store that clang's coverage instrumentation reports,
 * once a second thread exists, and prints those of bytes that two threads
 * touched, at least one of them writing: "PC" per line.
 *
 * Memory is never given back, so that an address means the same thing all the
 * time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct access { uintptr_t address, pc; int size, thread, writes; };

enum { ROOM = 1 << 14 };
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

enum { STACK = 1 << 18 };

/* In place of the library's, which libstdc++ calls too. Every thread has a stack
 * that no other had before. */
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *p) {
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    create = (__typeof__(create))dlsym(RTLD_NEXT, "pthread_create");
    __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
    if (a) return create(t, a, f, p);
    pthread_attr_t own;
    pthread_attr_init(&own);
    void *stack = mmap(0, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_setstack(&own, stack, STACK);
    return create(t, &own, f, p);
}

void free(void *memory) { (void)memory; }
void *realloc(void *memory, size_t size) {
    void *fresh = malloc(size);
    size_t old = memory ? malloc_usable_size(memory) : 0;
    if (fresh && memory) memcpy(fresh, memory, old < size ? old : size);
    return fresh;
}

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
    dprintf(STDERR_FILENO, count == ROOM ? "full\n" : "observed\n");
}
