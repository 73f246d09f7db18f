// A thread that is made by `clone`, past the C library, does beside the others what would
// be events of theirs.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 1000 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, own = PTHREAD_MUTEX_INITIALIZER;
static atomic_int done;
static int blocks[64];

static void round_of(int number, pthread_mutex_t *lock) {
    pthread_mutex_lock(lock);
    int *block = malloc(16 + number % 2000);
    *block = number;
    blocks[number % 64] ^= *block;
    free(block);
    pthread_mutex_unlock(lock);
}

static int stranger(void *unused) {
    (void)unused;
    for (int number = 0; number < ROUNDS; number++) round_of(number, &own);
    done = 1;
    syscall(SYS_exit, 0);
    return 0;
}

static void *work(void *unused) {
    for (int number = 0; number < ROUNDS; number++) round_of(number, &mutex);
    return unused;
}

int main(void) {
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    const size_t size = 1 << 20;
    char *stack = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t threads[2];
    if (stack == MAP_FAILED || clone(stranger, stack + size, flags, 0) < 0) return 2;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    while (!done) usleep(1000);
    return 0;
}
