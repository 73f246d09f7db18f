// A thread that finds nothing keeps its permit, and whoever would have brought something
// waits for that.
#include <pthread.h>
#include <semaphore.h>

static sem_t permits;
static int count;

static void *take(void *argument) {
    sem_wait(&permits);
    if (count == 0) return argument;
    count--;
    sem_post(&permits);
    return argument;
}

static void *bring(void *argument) {
    sem_wait(&permits);
    count++;
    sem_post(&permits);
    return argument;
}

int main(void) {
    pthread_t taker, bringer;
    sem_init(&permits, 0, 1);
    pthread_create(&taker, NULL, take, NULL);
    pthread_create(&bringer, NULL, bring, NULL);
    pthread_join(taker, NULL);
    pthread_join(bringer, NULL);
    return 0;
}
