// Two threads announce themselves and look for each other (store buffering), in
// variants. If neither sees the other, the program aborts.
//
//     (nothing)      release stores and acquire loads
//     ASSEMBLY       a fence written in assembly between store and load
//     INTRINSIC      the same by a compiler's intrinsic
//     PARTIAL        a byte is stored and the whole word read before looking: the
//                    read cannot be served from the buffer in part
//     LIBRARY        between store and load, code without hooks writes over the
//                    variable, which nobody may lose
//     UNMAPPED       the variable's memory is gone while its store still waits
//     CRASH          whoever sees nobody crashes at once

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct flag {
    union {
        atomic_int word;
        atomic_char bytes[4];
        char text[4];
    };
} __attribute__((aligned(64)));

static struct flag flags[2];
static int seen[2];

static void announce(int self)
{
#if defined PARTIAL
    atomic_store_explicit(&flags[self].bytes[0], 1, memory_order_relaxed);
    assert(atomic_load_explicit(&flags[self].word, memory_order_relaxed) == 1);
#elif defined LIBRARY
    static const char digits[] = "321";
    atomic_store_explicit(&flags[self].bytes[0], 1, memory_order_relaxed);
    // Not a constant, or it would be compiled to a store.
    void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    copy(flags[self].text, digits, sizeof digits);
    assert(!strcmp(flags[self].text, digits));
#elif defined UNMAPPED
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile char *)page = 1;
    munmap(page, 4096);
    atomic_store_explicit(&flags[self].word, 1, memory_order_seq_cst);
#else
    atomic_store_explicit(&flags[self].word, 1, memory_order_release);
#endif
#if defined ASSEMBLY
    __asm__ volatile("mfence" ::: "memory");
#elif defined INTRINSIC
    __builtin_ia32_mfence();
#endif
}

static void *meet(void *argument)
{
    int self = (int)(long)argument;
    announce(self);
    seen[self] = atomic_load_explicit(&flags[1 - self].word, memory_order_acquire);
#ifdef CRASH
    if (!seen[self])
        *(volatile int *)16 = 1;
#endif
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, meet, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
#ifdef LIBRARY
    assert(!strcmp(flags[0].text, "321") && !strcmp(flags[1].text, "321"));
    return 0;
#endif
    if (!seen[0] && !seen[1])
        abort();
}
