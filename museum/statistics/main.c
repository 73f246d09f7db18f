// Statistics of a server: query threads add up how many queries there were and
// how long they took, and note those that took much longer than the mean. The
// administrator resets the counters from time to time.
//
//     statistics [query threads] [queries per thread]

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    pthread_mutex_t lock;
    atomic_long queries;
    atomic_long microseconds;
} statistics = {.lock = PTHREAD_MUTEX_INITIALIZER};

static long queries_per_thread;

static void count_query(long microseconds)
{
    pthread_mutex_lock(&statistics.lock);
    atomic_fetch_add(&statistics.queries, 1);
    atomic_fetch_add(&statistics.microseconds, microseconds);
    pthread_mutex_unlock(&statistics.lock);
}

static void reset(void)
{
    pthread_mutex_lock(&statistics.lock);
    atomic_store(&statistics.queries, 0); // marker: count-reset
    atomic_store(&statistics.microseconds, 0);
    pthread_mutex_unlock(&statistics.lock);
}

static long mean(void)
{
    long average = 0;
#ifdef FIXED
    pthread_mutex_lock(&statistics.lock);
#endif
    if (atomic_load(&statistics.queries) > 0) // marker: count-checked
        average = atomic_load(&statistics.microseconds) / atomic_load(&statistics.queries); // marker: divided
#ifdef FIXED
    pthread_mutex_unlock(&statistics.lock);
#endif
    return average;
}

static void *run_queries(void *argument)
{
    long *slow_queries = argument;
    for (long i = 0; i < queries_per_thread; i++) {
        long microseconds = i % 10 == 9 ? 500 : 20;
        count_query(microseconds);
        if (microseconds > 5 * mean())
            ++*slow_queries;
    }
    return NULL;
}

static void *administrate(void *argument)
{
    (void)argument;
    for (long i = 0; i < queries_per_thread / 10 + 1; i++)
        reset();
    return NULL;
}

int main(int argc, char **argv)
{
    long query_threads = argc > 1 ? atol(argv[1]) : 2;
    queries_per_thread = argc > 2 ? atol(argv[2]) : 10;

    pthread_t threads[query_threads];
    long slow_queries[query_threads];
    for (long i = 0; i < query_threads; i++) {
        slow_queries[i] = 0;
        pthread_create(&threads[i], NULL, run_queries, &slow_queries[i]);
    }
    pthread_t administrator;
    pthread_create(&administrator, NULL, administrate, NULL);
    long slow = 0;
    for (long i = 0; i < query_threads; i++) {
        pthread_join(threads[i], NULL);
        slow += slow_queries[i];
    }
    pthread_join(administrator, NULL);
    printf("%ld slow queries; mean since the last reset: %ld us\n", slow, mean());
}
