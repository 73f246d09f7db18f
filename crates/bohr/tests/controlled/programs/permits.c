// Three threads that take a semaphore each and then their neighbour's: a circle that no
// lock is part of.
#include <pthread.h>
#include <semaphore.h>

#define COUNT 3

static sem_t forks[COUNT];

static void *eat(void *argument) {
    long seat = (long)argument;
    sem_wait(&forks[seat]);
    sem_wait(&forks[(seat + 1) % COUNT]); // marker: waits
    sem_post(&forks[(seat + 1) % COUNT]);
    sem_post(&forks[seat]);
    return NULL;
}

int main(void) {
    pthread_t threads[COUNT];
    for (int fork = 0; fork < COUNT; fork++)
        sem_init(&forks[fork], 0, 1);
    for (long seat = 0; seat < COUNT; seat++)
        pthread_create(&threads[seat], NULL, eat, (void *)seat);
    for (int seat = 0; seat < COUNT; seat++)
        pthread_join(threads[seat], NULL);
    return 0;
}
