// A parallel bubble sort. One thread stands at each gap between two
// neighbouring cells and swaps them whenever they are in the wrong order.
// The sort need not be complete when the rounds are over, but it must not
// lose or invent a value.
//
//     bubble-sort [gaps] [rounds]

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct cell {
    pthread_mutex_t lock;
    int value;
};

static struct cell *cells;
static long rounds;

static void order_pair(struct cell *left, struct cell *right)
{
    pthread_mutex_lock(&left->lock);
#ifdef FIXED
    pthread_mutex_lock(&right->lock);
#endif
    int low = left->value; // marker: left-read
    int high = right->value; // marker: right-read
    if (low > high) {
        left->value = high; // marker: left-written
        right->value = low; // marker: right-written
    }
#ifdef FIXED
    pthread_mutex_unlock(&right->lock);
#endif
    pthread_mutex_unlock(&left->lock);
}

static void *mind_gap(void *argument)
{
    struct cell *left = argument;
    for (long round = 0; round < rounds; round++)
        order_pair(left, left + 1);
    return NULL;
}

int main(int argc, char **argv)
{
    long gaps = argc > 1 ? atol(argv[1]) : 25;
    rounds = argc > 2 ? atol(argv[2]) : 4;

    long sum = 0;
    cells = calloc(gaps + 1, sizeof *cells);
    for (long i = 0; i <= gaps; i++) {
        pthread_mutex_init(&cells[i].lock, NULL);
        cells[i].value = (int)((gaps - i) * 7 + 1);
        sum += cells[i].value;
    }

    pthread_t threads[gaps];
    for (long i = 0; i < gaps; i++)
        pthread_create(&threads[i], NULL, mind_gap, &cells[i]);
    for (long i = 0; i < gaps; i++)
        pthread_join(threads[i], NULL);

    for (long i = 0; i <= gaps; i++)
        sum -= cells[i].value;
    assert(sum == 0); // marker: nothing-lost
    free(cells);
    printf("%ld threads kept all values in %ld rounds\n", gaps, rounds);
}
