// The heart of a web server: listeners accept connections and push them into
// a queue, workers take them out. The queue has one place per worker. A
// listener waits until a worker is idle before it pushes, so the queue can
// never be full.
//
//     idle-workers [listeners, and as many workers] [connections per listener]

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { NO_MORE = -1 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t not_empty;
    long *connections;
    long capacity, count, first;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .not_empty = PTHREAD_COND_INITIALIZER};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t available;
    atomic_long count;
} idlers = {.lock = PTHREAD_MUTEX_INITIALIZER, .available = PTHREAD_COND_INITIALIZER};

static long connections_per_listener;

static void push(long connection)
{
    pthread_mutex_lock(&queue.lock);
    assert(queue.count < queue.capacity); // marker: queue-not-full
    queue.connections[(queue.first + queue.count++) % queue.capacity] = connection;
    pthread_cond_signal(&queue.not_empty);
    pthread_mutex_unlock(&queue.lock);
}

static long pop(void)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.count == 0)
        pthread_cond_wait(&queue.not_empty, &queue.lock);
    long connection = queue.connections[queue.first];
    queue.first = (queue.first + 1) % queue.capacity;
    queue.count--;
    pthread_mutex_unlock(&queue.lock);
    return connection;
}

static void set_idle(void)
{
    atomic_fetch_add(&idlers.count, 1);
    pthread_mutex_lock(&idlers.lock);
    pthread_cond_signal(&idlers.available);
    pthread_mutex_unlock(&idlers.lock);
}

static void wait_for_idler(void)
{
#ifdef FIXED
    pthread_mutex_lock(&idlers.lock);
    while (atomic_load(&idlers.count) <= 0)
        pthread_cond_wait(&idlers.available, &idlers.lock);
    atomic_fetch_sub(&idlers.count, 1);
    pthread_mutex_unlock(&idlers.lock);
#else
    if (atomic_load(&idlers.count) <= 0) { // marker: idlers-checked
        pthread_mutex_lock(&idlers.lock);
        while (atomic_load(&idlers.count) <= 0) // marker: idlers-rechecked
            pthread_cond_wait(&idlers.available, &idlers.lock);
        pthread_mutex_unlock(&idlers.lock);
    }
    atomic_fetch_sub(&idlers.count, 1); // marker: idlers-reduced
#endif
}

static void *listen_for_clients(void *argument)
{
    long first = (long)argument * connections_per_listener;
    for (long i = 0; i < connections_per_listener; i++) {
        wait_for_idler();
        push(first + i);
    }
    return NULL;
}

static void *work(void *argument)
{
    long *served = argument;
    for (;;) {
        set_idle();
        if (pop() == NO_MORE)
            return NULL;
        ++*served;
    }
}

int main(int argc, char **argv)
{
    long pairs = argc > 1 ? atol(argv[1]) : 2;
    connections_per_listener = argc > 2 ? atol(argv[2]) : 5;

    queue.capacity = pairs;
    queue.connections = calloc(pairs, sizeof *queue.connections);
    pthread_t listeners[pairs], workers[pairs];
    long served[pairs];
    for (long i = 0; i < pairs; i++) {
        served[i] = 0;
        pthread_create(&workers[i], NULL, work, &served[i]);
    }
    for (long i = 0; i < pairs; i++)
        pthread_create(&listeners[i], NULL, listen_for_clients, (void *)i);
    for (long i = 0; i < pairs; i++)
        pthread_join(listeners[i], NULL);
    for (long i = 0; i < pairs; i++) {
        wait_for_idler();
        push(NO_MORE);
    }

    long total = 0;
    for (long i = 0; i < pairs; i++) {
        pthread_join(workers[i], NULL);
        total += served[i];
    }
    free(queue.connections);
    printf("served %ld connections\n", total);
}
