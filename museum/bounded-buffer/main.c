// Producers and consumers over a bounded buffer, with a mutex and two
// conditions.
//
//     bounded-buffer [producers, and as many consumers] [items per producer]

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CAPACITY = 4 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t not_full;
    pthread_cond_t not_empty;
    long items[CAPACITY];
    int first, count;
} buffer = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .not_full = PTHREAD_COND_INITIALIZER,
    .not_empty = PTHREAD_COND_INITIALIZER,
};

static long items_per_producer;

static void put(long item)
{
    pthread_mutex_lock(&buffer.lock);
    while (buffer.count == CAPACITY)
        pthread_cond_wait(&buffer.not_full, &buffer.lock);
    buffer.items[(buffer.first + buffer.count) % CAPACITY] = item;
    buffer.count++;
    pthread_cond_signal(&buffer.not_empty);
    pthread_mutex_unlock(&buffer.lock);
}

static long take(void)
{
    pthread_mutex_lock(&buffer.lock);
#ifdef FIXED
    while (buffer.count == 0)
#else
    if (buffer.count == 0) // marker: emptiness-checked
#endif
        pthread_cond_wait(&buffer.not_empty, &buffer.lock);
    assert(buffer.count > 0); // marker: item-present
    long item = buffer.items[buffer.first];
    buffer.first = (buffer.first + 1) % CAPACITY;
    buffer.count--; // marker: item-taken
    pthread_cond_signal(&buffer.not_full);
    pthread_mutex_unlock(&buffer.lock);
    return item;
}

static void *produce(void *argument)
{
    (void)argument;
    for (long item = 1; item <= items_per_producer; item++)
        put(item);
    return NULL;
}

static void *consume(void *argument)
{
    long *sum = argument;
    for (long i = 0; i < items_per_producer; i++)
        *sum += take();
    return NULL;
}

int main(int argc, char **argv)
{
    long pairs = argc > 1 ? atol(argv[1]) : 2;
    items_per_producer = argc > 2 ? atol(argv[2]) : 3;

    pthread_t producers[pairs], consumers[pairs];
    long sums[pairs];
    for (long i = 0; i < pairs; i++)
        pthread_create(&producers[i], NULL, produce, NULL);
    for (long i = 0; i < pairs; i++) {
        sums[i] = 0;
        pthread_create(&consumers[i], NULL, consume, &sums[i]);
    }
    long sum = 0;
    for (long i = 0; i < pairs; i++) {
        pthread_join(producers[i], NULL);
        pthread_join(consumers[i], NULL);
        sum += sums[i];
    }
    assert(sum == pairs * items_per_producer * (items_per_producer + 1) / 2);
    printf("%ld items went through a buffer of %d\n", pairs * items_per_producer, CAPACITY);
}
