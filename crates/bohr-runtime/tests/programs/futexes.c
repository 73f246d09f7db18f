// Raw futexes: wait, wake, time-out, bit sets, requeue, wake-op.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint32_t word, other, ready, done;

static long futex(void *at, int op, uint32_t value, void *fourth, void *second, uint32_t third) {
    return syscall(SYS_futex, at, op, value, fourth, second, third);
}

static void *waits(void *bits) {
    ready++;
    while (word == 0)
        futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, 0, 0, (uint32_t)(uintptr_t)bits);
    done++;
    return 0;
}

static void *waits_once(void *unused) {
    ready++;
    while (futex(&word, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0) == -1)
        assert(errno == EAGAIN && word != 0);
    done++;
    return unused;
}

static void *flips(void *unused) {
    for (int round = 0; round < 3; round++) {
        word = 1;
        sched_yield();
        word = 0;
        sched_yield();
    }
    return unused;
}

static void start(pthread_t *threads, int count, void *(*run)(void *)) {
    ready = done = word = 0;
    for (intptr_t i = 0; i < count; i++)
        pthread_create(&threads[i], 0, run, (void *)(1L << i));
    while (ready < (uint32_t)count)
        usleep(1);
}

int main(void) {
    pthread_t threads[3];
    assert(futex(&word, FUTEX_WAIT_PRIVATE, 1, 0, 0, 0) == -1 && errno == EAGAIN);
    assert(futex((char *)&word + 1, FUTEX_WAIT_PRIVATE, 1, 0, 0, 0) == -1 && errno == EINVAL);
    assert(futex((void *)8, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0) == -1 && errno == EFAULT);
    struct timespec span = {.tv_sec = 1000};
    assert(futex(&word, FUTEX_WAIT_PRIVATE, 0, &span, 0, 0) == -1 && errno == ETIMEDOUT);

    start(threads, 3, waits);
    word = 1;
    for (int i = 0; i < 3; i++) {
        // Each bit wakes at most its own waiter.
        assert(futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 10, 0, 0, 1 << i) <= 1);
        pthread_join(threads[i], 0);
    }
    assert(done == 3);

    start(threads, 3, waits_once);
    // Waiters move to the other word, where they are woken one by one.
    long moved = 0;
    while (moved < 3) {
        long now = futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 0, (void *)10, &other, 0);
        assert(now >= 0);
        moved += now;
        usleep(1);
    }
    for (long woken = 0; woken < 3;) {
        long now = futex(&other, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
        assert(now == 1);
        woken += now;
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);

    // Who is told that waiters were moved has found the word as expected.
    word = 0;
    pthread_create(&threads[0], 0, flips, 0);
    for (int round = 0; round < 4; round++) {
        long now = futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 0, (void *)10, &other, 0);
        assert(now == 0 ? word == 0 : errno == EAGAIN && word == 1);
    }
    pthread_join(threads[0], 0);

    other = 5;
    int add_two_if_five = FUTEX_OP(FUTEX_OP_ADD, 2, FUTEX_OP_CMP_EQ, 5);
    assert(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &other, add_two_if_five) == 0);
    assert(other == 7);
    return 0;
}
