// Two threads take what a third one gives, and do not look again when they are woken.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;
static int items;

static void *take(void *argument) {
    pthread_mutex_lock(&lock);
    if (items == 0) pthread_cond_wait(&given, &lock);
    items--;
    assert(items >= 0);
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *give(void *argument) {
    for (int item = 0; item < 2; item++) {
        pthread_mutex_lock(&lock);
        items++;
        pthread_cond_signal(&given);
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, take, NULL);
    pthread_create(&threads[1], NULL, take, NULL);
    pthread_create(&threads[2], NULL, give, NULL);
    for (int number = 0; number < 3; number++) pthread_join(threads[number], NULL);
    return 0;
}
