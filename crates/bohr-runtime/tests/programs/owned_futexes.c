// Futexes that hold their owner: lock, try, unlock, time-outs, errors, and a wait
// that ends with the lock held.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

static _Atomic uint32_t word, bell;
static int inside, total, ready, rung;

static long futex(void *at, int op, uint32_t value, void *fourth, void *second, uint32_t third) {
    return syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, value, fourth, second, third);
}

static void lock(void) {
    uint32_t nobody = 0;
    if (!__atomic_compare_exchange_n((uint32_t *)&word, &nobody, gettid(), 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        assert(futex(&word, FUTEX_LOCK_PI, 0, 0, 0, 0) == 0);
    assert((word & FUTEX_TID_MASK) == (uint32_t)gettid());
}

static void unlock(void) {
    uint32_t me = gettid();
    if (!__atomic_compare_exchange_n((uint32_t *)&word, &me, 0, 0, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED))
        assert(futex(&word, FUTEX_UNLOCK_PI, 0, 0, 0, 0) == 0);
}

static void *counts(void *unused) {
    for (int i = 0; i < 5; i++) {
        lock();
        assert(inside++ == 0);
        sched_yield();
        total++;
        assert(--inside == 0);
        unlock();
    }
    return unused;
}

static void *fails(void *unused) {
    assert(futex(&word, FUTEX_TRYLOCK_PI, 0, 0, 0, 0) == -1 && errno == EAGAIN);
    assert(futex(&word, FUTEX_UNLOCK_PI, 0, 0, 0, 0) == -1 && errno == EPERM);
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 1;
    assert(futex(&word, FUTEX_LOCK_PI, 0, &time, 0, 0) == -1 && errno == ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += 1;
    assert(futex(&word, FUTEX_LOCK_PI2, 0, &time, 0, 0) == -1 && errno == ETIMEDOUT);
    return unused;
}

static void *listens(void *unused) {
    lock();
    ready++;
    uint32_t heard = bell;
    while (!rung) {
        unlock();
        long answer = futex(&bell, FUTEX_WAIT_REQUEUE_PI, heard, 0, &word, 0);
        if (answer == -1) {
            assert(errno == EAGAIN);
            lock();
        }
        assert((word & FUTEX_TID_MASK) == (uint32_t)gettid());
        heard = bell;
    }
    ready--;
    unlock();
    return unused;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, counts, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    assert(total == 15 && word == 0);

    lock();
    assert(futex(&word, FUTEX_LOCK_PI, 0, 0, 0, 0) == -1 && errno == EDEADLK);
    pthread_create(&threads[0], 0, fails, 0);
    pthread_join(threads[0], 0);
    unlock();
    assert(word == 0);

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, listens, 0);
    for (int all = 0; !all; usleep(1)) {
        lock();
        all = ready == 3;
        unlock();
    }
    lock();
    rung = 1;
    uint32_t now = ++bell;
    assert(futex(&bell, FUTEX_CMP_REQUEUE_PI, 1, (void *)10, &word, now - 1) == -1 &&
           errno == EAGAIN);
    long moved = futex(&bell, FUTEX_CMP_REQUEUE_PI, 1, (void *)10, &word, now);
    assert(moved >= 0 && moved <= 3);
    unlock();
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    assert(ready == 0 && word == 0);
    return 0;
}
