// Threads that throw coins: the argument says how often. Two branches per throw.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long throws;

static void *play(void *argument)
{
    unsigned long coin = (unsigned long)argument;
    long heads = 0;
    for (long i = 0; i < throws; i++) {
        coin = coin * 6364136223846793005UL + 1442695040888963407UL;
        if (coin >> 63)
            heads++;
    }
    return (void *)heads;
}

int main(int argc, char **argv)
{
    throws = argc > 1 ? atol(argv[1]) : 1;
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, play, (void *)(i + 1));
    for (int i = 0; i < 2; i++) {
        void *heads;
        pthread_join(threads[i], &heads);
        printf("%ld heads\n", (long)heads);
    }
}
