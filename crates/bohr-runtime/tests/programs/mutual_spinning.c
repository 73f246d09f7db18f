// Two threads take turns by spinning on each other's word, with a yield.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int turn;

static void *alternate(void *number) {
    int self = *(int *)number;
    for (int i = 0; i < 20; i++) {
        while (atomic_load(&turn) != self)
            sched_yield();
        atomic_store(&turn, 1 - self);
    }
    return 0;
}

int main(void) {
    pthread_t threads[2];
    int numbers[2] = {0, 1};
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, alternate, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
