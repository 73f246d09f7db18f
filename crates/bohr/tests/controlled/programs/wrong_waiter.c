// A box with room for one thing, and one condition for those who wait for room and for
// those who wait for things: a signal may wake somebody whom it does not help.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int things;

static void *put(void *unused) {
    pthread_mutex_lock(&lock);
    while (things == 1) pthread_cond_wait(&changed, &lock);
    things = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *get(void *unused) {
    pthread_mutex_lock(&lock);
    while (things == 0) pthread_cond_wait(&changed, &lock);
    things = 0;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t threads[4];
    for (int each = 0; each < 4; each++)
        pthread_create(&threads[each], NULL, each < 2 ? get : put, NULL);
    for (int each = 0; each < 4; each++) pthread_join(threads[each], NULL);
    return 0;
}
