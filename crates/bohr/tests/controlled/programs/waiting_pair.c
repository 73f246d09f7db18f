// Two threads wake each other in turn until a third one tells them to stop.
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turns[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static long turn;
static int stopped;

static void *partner(void *argument) {
    long own = (long)argument;
    pthread_mutex_lock(&lock);
    while (!stopped) {
        while (turn != own && !stopped) pthread_cond_wait(&turns[own], &lock);
        turn = !own;
        pthread_cond_signal(&turns[!own]);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *stop(void *argument) {
    pthread_mutex_lock(&lock);
    stopped = 1;
    for (int each = 0; each < 2; each++) pthread_cond_signal(&turns[each]);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, partner, (void *)0);
    pthread_create(&threads[1], NULL, partner, (void *)1);
    pthread_create(&threads[2], NULL, stop, NULL);
    for (int each = 0; each < 3; each++) pthread_join(threads[each], NULL);
    return 0;
}
