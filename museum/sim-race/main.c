// A boiler: one thread raises the temperature limit step by step, another
// raises the target temperature behind it, and inspectors check that the
// target is never above the limit.
//
//     sim-race [inspectors] [steps]

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t limit_raised = PTHREAD_COND_INITIALIZER;
static atomic_long limit;
static atomic_long target;
static long steps;

static void *raise_limit(void *argument)
{
    (void)argument;
    for (long step = 1; step <= steps; step++) {
        pthread_mutex_lock(&lock);
        atomic_store(&limit, 10 * step); // marker: limit-raised
        pthread_cond_signal(&limit_raised);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *raise_target(void *argument)
{
    (void)argument;
    for (long step = 1; step <= steps; step++) {
#ifdef FIXED
        pthread_mutex_lock(&lock);
        while (atomic_load(&limit) < 10 * step)
            pthread_cond_wait(&limit_raised, &lock);
        pthread_mutex_unlock(&lock);
#endif
        atomic_store(&target, 10 * step); // marker: target-raised
    }
    return NULL;
}

static void *inspect(void *argument)
{
    (void)argument;
    for (long step = 0; step < steps; step++) {
        long seen = atomic_load(&target);
        assert(seen <= atomic_load(&limit)); // marker: within-limit
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long inspectors = argc > 1 ? atol(argv[1]) : 2;
    steps = argc > 2 ? atol(argv[2]) : 1;

    pthread_t threads[inspectors + 2];
    pthread_create(&threads[0], NULL, raise_limit, NULL);
    for (long i = 0; i < inspectors; i++)
        pthread_create(&threads[i + 1], NULL, inspect, NULL);
    pthread_create(&threads[inspectors + 1], NULL, raise_target, NULL);
    for (long i = 0; i < inspectors + 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld degrees, limit %ld\n", atomic_load(&target), atomic_load(&limit));
}
