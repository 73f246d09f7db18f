// A tracing library keeps the buffers of all threads in one linked list. Each
// thread links a buffer in whenever it fills one; at the end all buffers are
// collected and counted.
//
//     linked-list [threads] [buffers per thread]

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct buffer {
    struct buffer *next;
    long owner;
};

struct tracer {
    pthread_t thread;
    long number;
    long handed_in;
};

static _Atomic(struct buffer *) newest;
static long buffers_per_thread;

static void link_in(struct buffer *buffer)
{
#ifdef FIXED
    buffer->next = atomic_load(&newest);
    while (!atomic_compare_exchange_weak(&newest, &buffer->next, buffer))
        ;
#else
    buffer->next = atomic_load(&newest); // marker: newest-read
    atomic_store(&newest, buffer);       // marker: newest-written
#endif
}

static void *trace(void *argument)
{
    struct tracer *tracer = argument;
    for (long i = 0; i < buffers_per_thread; i++) {
        struct buffer *buffer = malloc(sizeof *buffer);
        buffer->owner = tracer->number;
        link_in(buffer);
        tracer->handed_in++;
    }
    return NULL;
}

static long collect(void)
{
    long count = 0;
    struct buffer *buffer = atomic_load(&newest);
    while (buffer != NULL) {
        struct buffer *next = buffer->next;
        free(buffer);
        buffer = next;
        count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 450;
    buffers_per_thread = argc > 2 ? atol(argv[2]) : 2;

    struct tracer *tracers = calloc(threads, sizeof *tracers);
    for (long i = 0; i < threads; i++) {
        tracers[i].number = i;
        pthread_create(&tracers[i].thread, NULL, trace, &tracers[i]);
    }
    long handed_in = 0;
    for (long i = 0; i < threads; i++) {
        pthread_join(tracers[i].thread, NULL);
        handed_in += tracers[i].handed_in;
    }
    free(tracers);

    long count = collect();
    assert(count == handed_in); // marker: all-collected
    printf("collected %ld buffers of %ld threads\n", count, threads);
}
