// Work that precedes a failure, for exhibits that are to be as long as the
// programs of the dump paper were: rounds of what the exhibit does anyway, by
// threads that take turns, so that nothing can go wrong in them. Then the
// exhibit begins.
//
// A lengthened exhibit renames `main`, includes the exhibit and then this, and
// defines `round_of_work`. Its last argument is the number of rounds per thread.

#include <pthread.h>
#include <stdlib.h>

enum { PRECEDING_THREADS = 2, PRIVATE_STEPS = 40 };

static void begin_work(void);
static void round_of_work(long number);
static void end_work(void);

static pthread_mutex_t turn_to_work = PTHREAD_MUTEX_INITIALIZER;
static long rounds_of_work;

// What nobody else sees of a request: about 300 instructions.
static unsigned long private_work(unsigned long state)
{
    for (int step = 0; step < PRIVATE_STEPS; step++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

static void *precede(void *argument)
{
    unsigned long *digest = (unsigned long *)argument;
    for (long number = 0; number < rounds_of_work; number++) {
        *digest = private_work(*digest + 1);
        pthread_mutex_lock(&turn_to_work);
        round_of_work(number);
        pthread_mutex_unlock(&turn_to_work);
    }
    return NULL;
}

#undef main
int main(int argc, char **argv)
{
    rounds_of_work = atol(argv[argc - 1]);
    begin_work();
    pthread_t threads[PRECEDING_THREADS];
    unsigned long digests[PRECEDING_THREADS];
    for (int i = 0; i < PRECEDING_THREADS; i++) {
        digests[i] = i + 1;
        pthread_create(&threads[i], NULL, precede, &digests[i]);
    }
    for (int i = 0; i < PRECEDING_THREADS; i++)
        pthread_join(threads[i], NULL);
    end_work();
    argv[argc - 1] = NULL;
    // What was `main` may end without a value; that is good.
    exhibit_main(argc - 1, argv);
    return 0;
}
