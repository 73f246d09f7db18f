// A structure and a block on the heap that optimisation takes apart or puts elsewhere:
// their parts have symbols of their own then.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static struct {
    long visits;
    int balance;
    long unused;
} state;

static long *total;

static void *count(void *argument) {
    int seen = state.balance;
    long sum = *total;
    state.visits++;
    state.balance = seen + 1;
    *total = sum + 1;
    return argument;
}

int main(void) {
    pthread_t threads[2];
    total = calloc(1, sizeof *total);
    for (int thread = 0; thread < 2; thread++)
        pthread_create(&threads[thread], NULL, count, NULL);
    for (int thread = 0; thread < 2; thread++)
        pthread_join(threads[thread], NULL);
    assert(state.balance == 2 && *total == 2);
    return 0;
}
