// A parallel bucket sort. Every worker counts how many of its keys fall into
// each bucket; the last one to finish counting turns the counts into starting
// places; then every worker moves its keys to their places.
//
//     bucket-sort [workers] [keys per worker]

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 4, KEY_LIMIT = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t places_known = PTHREAD_COND_INITIALIZER;
static bool known;
static long still_counting;

static long workers, keys_per_worker;
static int *keys, *sorted;
static atomic_long counts[BUCKETS], places[BUCKETS];

static int bucket_of(int key) { return key * BUCKETS / KEY_LIMIT; }

static void assign_places(void)
{
    long place = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        atomic_store(&places[bucket], place); // marker: places-assigned
        place += atomic_load(&counts[bucket]);
    }
    pthread_mutex_lock(&lock);
    known = true;
    pthread_cond_broadcast(&places_known);
    pthread_mutex_unlock(&lock);
}

// Whether the caller is the last to finish counting.
static bool finish_counting(void)
{
    pthread_mutex_lock(&lock);
#ifdef FIXED
    long left = --still_counting;
#else
    still_counting--; // marker: counting-finished
    pthread_mutex_unlock(&lock);

    pthread_mutex_lock(&lock);
    long left = still_counting; // marker: last-checked
#endif
    pthread_mutex_unlock(&lock);
    return left == 0;
}

static void wait_for_places(void)
{
    pthread_mutex_lock(&lock);
    while (!known)
        pthread_cond_wait(&places_known, &lock);
    pthread_mutex_unlock(&lock);
}

static void *sort_part(void *argument)
{
    const int *part = argument;
    for (long i = 0; i < keys_per_worker; i++)
        atomic_fetch_add(&counts[bucket_of(part[i])], 1);
    if (finish_counting())
        assign_places();
    wait_for_places();
    for (long i = 0; i < keys_per_worker; i++)
        sorted[atomic_fetch_add(&places[bucket_of(part[i])], 1)] = part[i];
    return NULL;
}

static void check(long total)
{
    long sum = 0;
    for (long i = 0; i < total; i++)
        sum += keys[i] - sorted[i];
    assert(sum == 0); // marker: keys-kept
    for (long i = 1; i < total; i++)
        assert(bucket_of(sorted[i - 1]) <= bucket_of(sorted[i]));
}

int main(int argc, char **argv)
{
    workers = argc > 1 ? atol(argv[1]) : 2;
    keys_per_worker = argc > 2 ? atol(argv[2]) : 40;

    long total = workers * keys_per_worker;
    keys = calloc(total, sizeof *keys);
    sorted = calloc(total, sizeof *sorted);
    for (long i = 0; i < total; i++)
        keys[i] = (int)(i * 37 % (KEY_LIMIT - 1)) + 1;
    still_counting = workers;

    pthread_t threads[workers];
    for (long i = 0; i < workers; i++)
        pthread_create(&threads[i], NULL, sort_part, &keys[i * keys_per_worker]);
    for (long i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);
    check(total);
    printf("%ld keys in %d buckets\n", total, BUCKETS);
    free(keys);
    free(sorted);
}
