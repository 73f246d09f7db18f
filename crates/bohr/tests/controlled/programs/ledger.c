// Rows on the heap that only a global pointer says the type of.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct row {
    long owner;
    long amount;
};

static struct row *rows;
static long chosen;

static void *deposit(void *unused) {
    rows[chosen].amount++;
    return unused;
}

int main(int argc, char **argv) {
    pthread_t threads[2];
    (void)argv;
    rows = calloc(3, sizeof *rows);
    chosen = argc;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, deposit, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(rows[1].amount == 2);
    free(rows);
    return 0;
}
