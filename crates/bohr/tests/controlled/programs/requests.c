// Workers take requests from a queue and count them without care. What main does for
// each request is marked: a block in a loop, so that one of them is in the other's way
// when passes are left out by their numbers.
#include "bohr.h"
#include <assert.h>
#include <pthread.h>

enum { WORKERS = 3, REQUESTS = 12 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int made, taken, closed, hits, counted;

static void handle(void) {
    int seen = hits;
    __atomic_fetch_add(&counted, 1, __ATOMIC_SEQ_CST);
    hits = seen + 1;
}

static void *work(void *unused) {
    for (;;) {
        pthread_mutex_lock(&lock);
        while (taken == made && !closed)
            pthread_cond_wait(&changed, &lock);
        int is_over = taken == made;
        taken += !is_over;
        pthread_mutex_unlock(&lock);
        if (is_over)
            return unused;
        handle();
    }
}

int main(void) {
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    for (int i = 0; i < REQUESTS; i++) {
        BOHR_RCB_BEGIN
        pthread_mutex_lock(&lock);
        made++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
        BOHR_RCB_END
    }
    pthread_mutex_lock(&lock);
    closed = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    assert(hits == counted);
    return 0;
}
