/* Threads that run part of their work on stacks of their own, each between pages that
   nobody may touch: as libraries of coroutines have them. Loses updates there. The
   arguments say how many each of them makes, and how many may be lost. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifndef SIZE
#define SIZE (32 << 10)
#endif
enum { GAP = 256 << 10 };

static int counter, rounds = 3, spare;
static __thread ucontext_t thread, routine;

static void count(void) {
    for (int round = 0; round < rounds; round++) {
        counter++;
    }
}

static void *work(void *argument) {
    char *memory = mmap(0, GAP + SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + GAP, SIZE, PROT_READ | PROT_WRITE);
    getcontext(&routine);
    routine.uc_stack.ss_sp = memory + GAP;
    routine.uc_stack.ss_size = SIZE;
    routine.uc_link = &thread;
    makecontext(&routine, count, 0);
    swapcontext(&thread, &routine);
    munmap(memory, GAP + SIZE);
    return argument;
}

int main(int count, char **arguments) {
    pthread_t threads[2];
    if (count > 1)
        rounds = atoi(arguments[1]);
    if (count > 2)
        spare = atoi(arguments[2]);
    for (int at = 0; at < 2; at++) {
        pthread_create(&threads[at], 0, work, 0);
    }
    for (int at = 0; at < 2; at++) {
        pthread_join(threads[at], 0);
    }
    assert(counter + spare >= 2 * rounds);
    return 0;
}
