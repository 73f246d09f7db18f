// A run of about as many events as the argument says; none of them races.
#include <pthread.h>
#include <stdlib.h>

static volatile long shared;

static void *walk(void *argument) {
    for (long left = atol(argument) / 2; left > 0; left--) shared++;
    return argument;
}

int main(int count, char **words) {
    pthread_t thread;
    pthread_create(&thread, NULL, walk, count > 1 ? words[1] : "10");
    pthread_join(thread, NULL);
    return shared == 0;
}
