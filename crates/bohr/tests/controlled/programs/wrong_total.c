// Two clerks book so many entries each, and now and then lose one of the other's: the
// total that is printed is wrong, and the program ends as if it were not.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long total;
static long entries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t opening;

static void *clerk(void *unused) {
    pthread_barrier_wait(&opening);
    for (long entry = 0; entry < entries; entry++) {
        pthread_mutex_lock(&lock);
        long seen = total;
        pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&lock);
        total = seen + 1;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(int count, char **words) {
    entries = count > 1 ? atol(words[1]) : 2;
    pthread_barrier_init(&opening, NULL, 2);
    pthread_t clerks[2];
    for (int number = 0; number < 2; number++)
        pthread_create(&clerks[number], NULL, clerk, NULL);
    for (int number = 0; number < 2; number++)
        pthread_join(clerks[number], NULL);
    long expected = 2 * entries;
    printf("%ld entries, %ld expected\n", total, expected);
    return 0;
}
