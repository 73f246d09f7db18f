// A static constructor starts a thread that serves until a destructor ends it. With an
// argument, a request is looked for outside the lock, and may be missed.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t server;
static atomic_int asked, is_over;
static int done, careless, constructed;

static void *serve(void *unused) {
    for (;;) {
        int missed = careless && asked == done && !is_over;
        pthread_mutex_lock(&lock);
        if (missed) pthread_cond_wait(&changed, &lock);
        while (!careless && asked == done && !is_over) pthread_cond_wait(&changed, &lock);
        if (asked == done && is_over) break;
        done = asked;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

__attribute__((constructor)) static void begin(int arguments, char **texts, char **variables) {
    assert(texts[arguments] == NULL && variables != NULL);
    careless = arguments > 1;
    constructed++;
    assert(pthread_create(&server, NULL, serve, NULL) == 0);
}

static void *ask(void *unused) {
    pthread_mutex_lock(&lock);
    asked++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

__attribute__((destructor)) static void end(void) {
    pthread_mutex_lock(&lock);
    is_over = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(server, NULL);
    if (done != asked) abort();
}

int main(void) {
    pthread_t threads[2];
    assert(constructed == 1);
    for (int at = 0; at < 2; at++) pthread_create(&threads[at], NULL, ask, NULL);
    for (int at = 0; at < 2; at++) pthread_join(threads[at], NULL);
    return 0;
}
