// Every kind of mutex keeps its promises.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t nested = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t robust;
static int inside, shared;

static void *contend(void *lock) {
    for (int i = 0; i < 3; i++) {
        assert(pthread_mutex_lock(lock) == 0);
        assert(inside++ == 0);
        shared++;
        assert(--inside == 0);
        assert(pthread_mutex_unlock(lock) == 0);
    }
    return 0;
}

static void *nest(void *unused) {
    assert(pthread_mutex_lock(&nested) == 0);
    assert(pthread_mutex_lock(&nested) == 0);
    assert(pthread_mutex_trylock(&nested) == 0);
    int before = shared++;
    assert(pthread_mutex_unlock(&nested) == 0);
    assert(pthread_mutex_unlock(&nested) == 0);
    assert(shared == before + 1);
    assert(pthread_mutex_unlock(&nested) == 0);
    assert(pthread_mutex_unlock(&nested) == EPERM);
    return unused;
}

static void *check(void *unused) {
    assert(pthread_mutex_lock(&checked) == 0);
    assert(pthread_mutex_lock(&checked) == EDEADLK);
    assert(pthread_mutex_unlock(&checked) == 0);
    assert(pthread_mutex_unlock(&checked) == EPERM);
    return unused;
}

static void *die_holding(void *unused) {
    assert(pthread_mutex_lock(&robust) == 0);
    return unused;
}

static void *give_up(void *unused) {
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 1000;
    assert(pthread_mutex_timedlock(&plain, &soon) == ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &soon);
    soon.tv_sec += 1000;
    assert(pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
    assert(pthread_mutex_trylock(&plain) == EBUSY);
    return unused;
}

static void both(void *(*run)(void *), void *argument) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert(pthread_create(&threads[i], 0, run, argument) == 0);
    for (int i = 0; i < 2; i++)
        assert(pthread_join(threads[i], 0) == 0);
}

int main(void) {
    both(contend, &plain);
    both(contend, &nested);
    both(contend, &checked);
    assert(shared == 18);
    both(nest, 0);
    both(check, 0);

    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_t thread;
    pthread_create(&thread, 0, die_holding, 0);
    pthread_join(thread, 0);
    assert(pthread_mutex_lock(&robust) == EOWNERDEAD);
    assert(pthread_mutex_consistent(&robust) == 0);
    assert(pthread_mutex_unlock(&robust) == 0);
    assert(pthread_mutex_lock(&robust) == 0);
    assert(pthread_mutex_unlock(&robust) == 0);
    // Given back as it was found, it is lost, and everybody is told.
    pthread_create(&thread, 0, die_holding, 0);
    pthread_join(thread, 0);
    assert(pthread_mutex_lock(&robust) == EOWNERDEAD);
    assert(pthread_mutex_unlock(&robust) == 0);
    assert(pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
    assert(pthread_mutex_lock(&robust) == ENOTRECOVERABLE);

    pthread_mutex_lock(&plain);
    both(give_up, 0);
    pthread_mutex_unlock(&plain);
    return 0;
}
