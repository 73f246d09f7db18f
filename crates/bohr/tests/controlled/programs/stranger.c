// A thread that is made by `clone`, past the C library, writes what others write, too.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 5000 };
static atomic_int shared, done;
static int cells[100];

static int stranger(void *unused) {
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        atomic_fetch_add(&shared, 1);
        cells[i % 100]++;
    }
    atomic_store(&done, 1);
    syscall(SYS_exit, 0);
    return 0;
}

static void *work(void *unused) {
    for (int i = 0; i < ROUNDS; i++) atomic_fetch_add(&shared, 1);
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
    while (!atomic_load(&done)) sched_yield();
    return atomic_load(&shared) != 3 * ROUNDS;
}
