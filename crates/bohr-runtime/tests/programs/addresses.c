// Prints addresses of everything that it has, and what it sees of the machine.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static int global;

static void *show(void *unused) {
    int local;
    unsigned random;
    struct timespec time;
    getrandom(&random, sizeof random, 0);
    clock_gettime(CLOCK_REALTIME, &time);
    char *first = malloc(10), *second = malloc(100000);
    printf("%p %p %p %p %u %ld.%09ld\n", (void *)&local, (void *)&global, (void *)first,
           (void *)second, random, (long)time.tv_sec, time.tv_nsec);
    free(first);
    free(second);
    return unused;
}

int main(int count, char **arguments) {
    pthread_t threads[3];
    printf("%d %p %p %d %ld\n", count, (void *)arguments, (void *)arguments[0], (int)getpid(),
           sysconf(_SC_NPROCESSORS_ONLN));
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, show, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return 0;
}
