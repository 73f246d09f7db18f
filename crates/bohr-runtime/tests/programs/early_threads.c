#define _GNU_SOURCE
// Starts threads before main, in the first constructor, which is never under control: one
// that is joined in main, one that is detached there, one that is joined behind it. With
// an argument, main joins one that has not ended.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_t inside, detached, behind, endless;
static atomic_int count;

static void *work(void *result) {
    count++;
    return result;
}

static void *wait(void *unused) {
    for (;;) pause();
    return unused;
}

__attribute__((constructor(101))) static void before(int arguments) {
    pthread_create(&inside, 0, work, &inside);
    pthread_create(&detached, 0, work, 0);
    pthread_create(&behind, 0, work, &behind);
    if (arguments > 1) pthread_create(&endless, 0, wait, 0);
}

__attribute__((destructor)) static void after(void) {
    void *result = 0;
    assert(pthread_join(behind, &result) == 0 && result == &behind);
}

int main(int arguments, char **unused) {
    pthread_t others[2];
    for (int at = 0; at < 2; at++) assert(pthread_create(&others[at], 0, work, 0) == 0);
    void *result = 0;
    assert(pthread_join(inside, &result) == 0 && result == &inside);
    assert(pthread_join(inside, 0) == ESRCH);
    assert(pthread_detach(detached) == 0);
    for (int at = 0; at < 2; at++) assert(pthread_join(others[at], 0) == 0);
    assert(count == 5);
    if (arguments > 1) {
        assert(pthread_tryjoin_np(endless, 0) == EBUSY);
        pthread_join(endless, 0);
    }
    return unused == 0;
}
