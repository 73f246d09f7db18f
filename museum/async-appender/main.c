// An asynchronous log appender. Threads put their messages into a buffer and
// wait when it is full; a dispatcher takes messages out, and wakes a waiting
// thread if the buffer was full before. The size of the buffer can be changed
// while all this goes on.
//
//     async-appender [threads] [messages per thread]

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { SMALL_BUFFER = 8, LARGE_BUFFER = 16 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t not_full;
    pthread_cond_t not_empty;
    long count, size, dispatched;
    bool closed;
} buffer = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .not_full = PTHREAD_COND_INITIALIZER,
    .not_empty = PTHREAD_COND_INITIALIZER,
    .size = SMALL_BUFFER,
};

static long messages;

static void append(void)
{
    pthread_mutex_lock(&buffer.lock);
    while (buffer.count >= buffer.size)
        pthread_cond_wait(&buffer.not_full, &buffer.lock); // marker: appender-waits
    buffer.count++;
    pthread_cond_signal(&buffer.not_empty);
    pthread_mutex_unlock(&buffer.lock);
}

static void set_buffer_size(long size)
{
    pthread_mutex_lock(&buffer.lock);
    buffer.size = size; // marker: size-changed
#ifdef FIXED
    pthread_cond_broadcast(&buffer.not_full);
#endif
    pthread_mutex_unlock(&buffer.lock);
}

static void close_buffer(void)
{
    pthread_mutex_lock(&buffer.lock);
    buffer.closed = true;
    pthread_cond_signal(&buffer.not_empty);
    pthread_mutex_unlock(&buffer.lock);
}

static void *dispatch(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&buffer.lock);
    for (;;) {
        while (buffer.count == 0 && !buffer.closed)
            pthread_cond_wait(&buffer.not_empty, &buffer.lock); // marker: dispatcher-waits
        if (buffer.count == 0)
            break;
        bool was_full = buffer.count >= buffer.size; // marker: fullness-checked
        buffer.count--;
        buffer.dispatched++;
        if (was_full)
            pthread_cond_broadcast(&buffer.not_full);
    }
    pthread_mutex_unlock(&buffer.lock);
    return NULL;
}

static void *log_messages(void *argument)
{
    (void)argument;
    for (long i = 0; i < messages; i++)
        append();
    return NULL;
}

static void *configure(void *argument)
{
    (void)argument;
    set_buffer_size(LARGE_BUFFER);
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 2;
    messages = argc > 2 ? atol(argv[2]) : 10;

    pthread_t dispatcher, configurator, loggers[threads];
    pthread_create(&dispatcher, NULL, dispatch, NULL);
    pthread_create(&configurator, NULL, configure, NULL);
    for (long i = 0; i < threads; i++)
        pthread_create(&loggers[i], NULL, log_messages, NULL);
    for (long i = 0; i < threads; i++)
        pthread_join(loggers[i], NULL);
    pthread_join(configurator, NULL);
    close_buffer();
    pthread_join(dispatcher, NULL);
    printf("%ld messages dispatched\n", buffer.dispatched);
}
