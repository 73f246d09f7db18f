// Threads that write one shared variable; arguments: threads, writes of each.
#include <pthread.h>
#include <stdlib.h>

volatile int shared;

static void *work(void *writes) {
    for (long number = 0; number < (long)writes; number++)
        shared = (int)number;
    return NULL;
}

int main(int count, char **arguments) {
    int threads = count > 1 ? atoi(arguments[1]) : 1;
    long writes = count > 2 ? atol(arguments[2]) : 1000;
    pthread_t ids[64];
    for (int number = 0; number < threads; number++)
        pthread_create(&ids[number], NULL, work, (void *)writes);
    for (int number = 0; number < threads; number++)
        pthread_join(ids[number], NULL);
    return 0;
}
