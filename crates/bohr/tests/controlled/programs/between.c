// Two threads announce themselves and look for each other (store buffering). What each
// does between the two is named by the argument; the exit code is 1 if neither saw the
// other, which takes a store that still waits when its thread looks.

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static union flag {
    atomic_int word;
    atomic_char bytes[4];
} flags[2];
static int seen[2];

static char between;
atomic_int unread, own[2];
char cleared[2][64];
static void *blocks[2];

static void *meet(void *argument)
{
    int self = (int)(long)argument;
    atomic_store_explicit(&flags[self].bytes[0], 1, memory_order_release);
    switch (between) {
    case 'y': // yields
        sched_yield();
        break;
    case 'n': // naps
        usleep(1);
        break;
    case 'f': // frees
        free(blocks[self]);
        break;
    case 's': // speaks
        puts("here");
        break;
    case 'u': // writes what nobody reads, sequentially consistent
        atomic_store(&unread, self);
        break;
    case 'o': // updates what is its own
        atomic_fetch_add_explicit(&own[self], 1, memory_order_relaxed);
        break;
    case 'c': // writes more than a buffer takes
        memset(cleared[self], self + 1, 40 + (unsigned)between % 8);
        break;
    case 'p': // reads what its store covers in part
        atomic_load_explicit(&flags[self].word, memory_order_relaxed);
        break;
    }
    seen[self] = atomic_load_explicit(&flags[1 - self].bytes[0], memory_order_acquire);
    return NULL;
}

int main(int argc, char **argv)
{
    between = argc > 1 ? argv[1][0] : 0;
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) {
        blocks[i] = malloc(16);
        pthread_create(&threads[i], NULL, meet, (void *)i);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return (seen[0] | seen[1]) == 0;
}
