// Waits that are taken for the arrival of what is waited for: one that need not be
// ended by a signal, and one of which the time may be over.
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *once(void *unused) {
    pthread_mutex_lock(&lock);
    if (!ready)
        pthread_cond_wait(&changed, &lock); // marker: once
    assert(ready);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *timed(void *unused) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 100;
    int error = 0;
    pthread_mutex_lock(&lock);
    while (!ready && error == 0)
        error = pthread_cond_timedwait(&changed, &lock, &end); // marker: timed
    assert(ready);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(int count, char **words) {
    pthread_t thread;
    int is_timed = count > 1 && strcmp(words[1], "timed") == 0;
    pthread_create(&thread, NULL, is_timed ? timed : once, NULL);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
