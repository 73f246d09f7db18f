// Loops that only count, and one that does not: the argument says how many rounds.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long rounds;

static unsigned long sum(unsigned long seed)
{
    for (long i = 0; i < 500; i++)
        seed = seed * 33 + (unsigned char)i;
    for (int i = 40; i != 0; i -= 4)
        seed ^= seed << (i & 7);
    return seed;
}

static void *work(void *argument)
{
    unsigned long *result = argument;
    for (long round = 0; round < rounds; round++)
        *(volatile unsigned long *)result ^= sum(round);
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? atol(argv[1]) : 1;
    unsigned long results[2] = {0, 0};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &results[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%lx\n", results[0] ^ results[1]);
}
