// A ticket office: each visitor draws a number from the dispenser, reads it
// off the display and is called up under it. Nobody may be called twice.
//
//     ticket-office [visitors] [tickets per visitor]

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    pthread_mutex_t lock;
    long next;
    long display;
} dispenser = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_bool *called;
static long tickets_per_visitor;

static long draw(void)
{
    pthread_mutex_lock(&dispenser.lock);
    dispenser.display = dispenser.next++; // marker: number-shown
#ifdef FIXED
    long number = dispenser.display;
    pthread_mutex_unlock(&dispenser.lock);
#else
    pthread_mutex_unlock(&dispenser.lock);

    pthread_mutex_lock(&dispenser.lock);
    long number = dispenser.display; // marker: number-read
    pthread_mutex_unlock(&dispenser.lock);
#endif
    return number;
}

static void *visitor(void *argument)
{
    (void)argument;
    for (long i = 0; i < tickets_per_visitor; i++) {
        long number = draw();
        assert(!atomic_exchange(&called[number], true)); // marker: called-once
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long visitors = argc > 1 ? atol(argv[1]) : 33;
    tickets_per_visitor = argc > 2 ? atol(argv[2]) : 4;

    called = calloc(visitors * tickets_per_visitor, sizeof *called);
    pthread_t threads[visitors];
    for (long i = 0; i < visitors; i++)
        pthread_create(&threads[i], NULL, visitor, NULL);
    for (long i = 0; i < visitors; i++)
        pthread_join(threads[i], NULL);
    free(called);
    printf("%ld visitors were called %ld times each\n", visitors, tickets_per_visitor);
}
