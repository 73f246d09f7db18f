// Several threads hand out tickets and several wait for them, all at one condition. Those
// who got one count themselves without a lock, and those who want to visit the office look
// whether it is free. The exit code is 1 if somebody was not counted.
//
//     tickets [pairs of threads] [tickets for each] [visits]

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t office = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t handed_out = PTHREAD_COND_INITIALIZER;
static long tickets, each, visited;
static volatile long counted, visits;

static void *hand_out(void *argument)
{
    for (long i = 0; i < each; i++) {
        pthread_mutex_lock(&lock);
        tickets++;
        pthread_cond_signal(&handed_out);
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

static void *fetch(void *argument)
{
    for (long i = 0; i < each; i++) {
        pthread_mutex_lock(&lock);
        while (tickets == 0)
            pthread_cond_wait(&handed_out, &lock);
        tickets--;
        pthread_mutex_unlock(&lock);
        counted++;
        if (visited && !pthread_mutex_trylock(&office)) {
            visits++;
            pthread_mutex_unlock(&office);
        }
    }
    return argument;
}

int main(int argc, char **argv)
{
    long pairs = argc > 1 ? atol(argv[1]) : 4;
    each = argc > 2 ? atol(argv[2]) : 4;
    visited = argc > 3;
    pthread_t threads[2 * pairs];
    for (long i = 0; i < 2 * pairs; i++)
        pthread_create(&threads[i], NULL, i % 2 ? hand_out : fetch, NULL);
    for (long i = 0; i < 2 * pairs; i++)
        pthread_join(threads[i], NULL);
    return counted != pairs * each;
}
