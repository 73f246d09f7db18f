// Mutual exclusion without locks for any number of threads, by the bakery
// algorithm: everybody draws a number larger than all they can see and waits
// until all smaller numbers are served.
//
//     bakery [threads] [rounds]

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

struct customer {
    atomic_bool choosing;
    atomic_long number;
};

static struct customer *customers;
static long threads, rounds;
static long counter;

static long largest_number(void)
{
    long largest = 0;
    for (long i = 0; i < threads; i++) {
        long number = atomic_load_explicit(&customers[i].number, OBSERVE); // marker: intent-read
        if (number > largest)
            largest = number;
    }
    return largest;
}

static bool goes_first(long other, long self)
{
    long theirs = atomic_load_explicit(&customers[other].number, OBSERVE);
    long ours = atomic_load_explicit(&customers[self].number, OBSERVE);
    return theirs != 0 && (theirs < ours || (theirs == ours && other < self));
}

static void enter(long self)
{
    atomic_store_explicit(&customers[self].choosing, true, PUBLISH); // marker: intent-stored
    long number = largest_number() + 1;
    atomic_store_explicit(&customers[self].number, number, PUBLISH);
    atomic_store_explicit(&customers[self].choosing, false, PUBLISH);
    for (long other = 0; other < threads; other++) {
        while (atomic_load_explicit(&customers[other].choosing, OBSERVE))
            sched_yield();
        while (goes_first(other, self))
            sched_yield();
    }
}

static void leave(long self)
{
    atomic_store_explicit(&customers[self].number, 0, PUBLISH);
}

static void *count(void *argument)
{
    long self = (long)argument;
    for (long round = 0; round < rounds; round++) {
        enter(self);
        counter++; // marker: counted
        leave(self);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argc > 1 ? atol(argv[1]) : 4;
    rounds = argc > 2 ? atol(argv[2]) : 1;

    customers = calloc(threads, sizeof *customers);
    pthread_t counters[threads];
    for (long i = 0; i < threads; i++)
        pthread_create(&counters[i], NULL, count, (void *)i);
    for (long i = 0; i < threads; i++)
        pthread_join(counters[i], NULL);
    assert(counter == threads * rounds); // marker: all-counted
    free(customers);
    printf("counted to %ld\n", counter);
}
