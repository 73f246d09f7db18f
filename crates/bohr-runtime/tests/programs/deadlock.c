// Two threads take two locks in opposite orders.
#include <pthread.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static int take(pthread_mutex_t *one, pthread_mutex_t *other) {
    pthread_mutex_lock(one);
    pthread_mutex_lock(other);
    pthread_mutex_unlock(other);
    pthread_mutex_unlock(one);
    return 1;
}

static void *forwards(void *taken) {
    *(int *)taken += take(&first, &second);
    return 0;
}

static void *backwards(void *taken) {
    *(int *)taken += take(&second, &first);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    int taken[2] = {0, 0};
    pthread_create(&threads[0], 0, forwards, &taken[0]);
    pthread_create(&threads[1], 0, backwards, &taken[1]);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return taken[0] + taken[1] == 2 ? 0 : 1;
}
