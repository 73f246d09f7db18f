// Long private loops, a serial phase before and after the threads, locks, and a
// block that is freed too early in some schedules. The argument is the length of
// the serial phase.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long shared, private_to[2];
static int *volatile block;

static void *work(void *which) {
    volatile long *own = &private_to[which != NULL];
    for (int round = 0; round < 400; round++)
        *own += round;
    pthread_mutex_lock(&lock);
    shared += *own;
    pthread_mutex_unlock(&lock);
    for (int round = 0; round < 300; round++)
        *own -= round;
    if (which != NULL)
        free(block);
    else
        shared += *block;
    return NULL;
}

int main(int count, char **arguments) {
    long length = count > 1 ? atol(arguments[1]) : 1000;
    for (long number = 0; number < length; number++)
        shared = number;
    block = malloc(sizeof *block);
    *block = 1;
    pthread_t first, second;
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, &lock);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    for (long number = 0; number < 3000; number++)
        shared = number;
    return 0;
}
