// Five hundred threads at once, deep recursion, a constructor, an exit handler.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNT = 500 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int counter, constructed;

__attribute__((constructor)) static void construct(void) { constructed = 1; }

static void goodbye(void) {
    if (constructed != 1 || counter != COUNT)
        _exit(3);
}

__attribute__((noinline)) static long deep(long depth) {
    volatile char space[256];
    space[0] = (char)depth;
    return depth == 0 ? space[0] : deep(depth - 1) + 1;
}

static void *add(void *number) {
    pthread_barrier_wait(&barrier);
    if ((long)number % 100 == 0)
        assert(deep(20000) == 20000); // more than 5 MiB of stack
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void) {
    static pthread_t threads[COUNT];
    atexit(goodbye);
    pthread_barrier_init(&barrier, 0, COUNT);
    for (long i = 0; i < COUNT; i++)
        assert(pthread_create(&threads[i], 0, add, (void *)i) == 0);
    for (long i = 0; i < COUNT; i++)
        assert(pthread_join(threads[i], 0) == 0);
    return 0;
}
