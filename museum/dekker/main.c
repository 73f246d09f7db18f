// Mutual exclusion of two threads without locks, by Dekker's algorithm. Both
// count to the same counter inside the critical section.
//
//     dekker [2] [rounds]

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef FIXED
enum { PUBLISH = memory_order_seq_cst, OBSERVE = memory_order_seq_cst };
#else
enum { PUBLISH = memory_order_release, OBSERVE = memory_order_acquire };
#endif

static atomic_bool wants[2];
static atomic_int turn;
static long counter;
static long rounds;

static void enter(int self)
{
    int other = 1 - self;
    atomic_store_explicit(&wants[self], true, PUBLISH); // marker: intent-stored
    while (atomic_load_explicit(&wants[other], OBSERVE)) { // marker: intent-read
        if (atomic_load_explicit(&turn, OBSERVE) == self) {
            sched_yield();
            continue;
        }
        atomic_store_explicit(&wants[self], false, PUBLISH);
        while (atomic_load_explicit(&wants[other], OBSERVE) &&
               atomic_load_explicit(&turn, OBSERVE) != self)
            sched_yield();
        atomic_store_explicit(&wants[self], true, PUBLISH);
    }
}

static void leave(int self)
{
    atomic_store_explicit(&turn, 1 - self, PUBLISH);
    atomic_store_explicit(&wants[self], false, PUBLISH);
}

static void *count(void *argument)
{
    int self = (int)(long)argument;
    for (long round = 0; round < rounds; round++) {
        enter(self);
        counter++; // marker: counted
        leave(self);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 2;
    rounds = argc > 2 ? atol(argv[2]) : 2;
    if (threads != 2) {
        fprintf(stderr, "Dekker's algorithm is for two threads\n");
        return 2;
    }

    pthread_t counters[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&counters[i], NULL, count, (void *)i);
    for (long i = 0; i < 2; i++)
        pthread_join(counters[i], NULL);
    assert(counter == 2 * rounds); // marker: all-counted
    printf("counted to %ld\n", counter);
}
