// Conditions: a bounded buffer, a broadcast, time-outs on both clocks.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, monotonic;
static int buffer[2], filled, sum, go, arrived;

static void *produce(void *unused) {
    for (int i = 1; i <= 4; i++) {
        pthread_mutex_lock(&lock);
        while (filled == 2)
            pthread_cond_wait(&changed, &lock);
        buffer[filled++] = i;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *consume(void *unused) {
    for (int i = 1; i <= 4; i++) {
        pthread_mutex_lock(&lock);
        while (filled == 0)
            pthread_cond_wait(&changed, &lock);
        sum += buffer[--filled];
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *line_up(void *unused) {
    pthread_mutex_lock(&lock);
    arrived++;
    while (!go)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static struct timespec later(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += 3600;
    return time;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, i % 2 ? produce : consume, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    assert(sum == 20 && filled == 0);

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, line_up, 0);
    pthread_mutex_lock(&lock);
    go = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    assert(arrived == 3);

    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&monotonic, &attributes);
    pthread_mutex_lock(&lock);
    long long before = now(CLOCK_MONOTONIC);
    struct timespec time = later(CLOCK_REALTIME);
    assert(pthread_cond_timedwait(&changed, &lock, &time) == ETIMEDOUT);
    time = later(CLOCK_MONOTONIC);
    assert(pthread_cond_timedwait(&monotonic, &lock, &time) == ETIMEDOUT);
    time = later(CLOCK_MONOTONIC);
    assert(pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &time) == ETIMEDOUT);
    long long passed = now(CLOCK_MONOTONIC) - before;
    assert(passed >= 3 * 3600 * 1000000000LL && passed < 3 * 3601 * 1000000000LL);
    assert(pthread_mutex_trylock(&lock) == EBUSY);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&monotonic);
    return 0;
}
