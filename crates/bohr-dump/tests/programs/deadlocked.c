// Two threads that wait for each other, and a main thread that has enough of it.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void take(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(second);
}

static void *one(void *unused) {
    take(&left, &right);
    return unused;
}

static void *two(void *unused) {
    take(&right, &left);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, two, NULL);
    usleep(200000);
    abort();
}
