// A compressor that works on blocks. The main thread puts blocks into a queue,
// consumers take and compress them, and when the last block is done the main
// thread tears the queue down and checks the result.
//
//     block-compressor [consumers] [blocks]

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 2048 };

// A mutex that knows how many threads want it, for the report.
struct counted_lock {
    atomic_long wanted;
    pthread_mutex_t mutex;
};

static struct counted_lock queue_lock = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct {
    _Atomic(struct counted_lock *) lock;
    pthread_cond_t changed;
    long next, end;
    bool complete;
} queue = {.changed = PTHREAD_COND_INITIALIZER};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    long consumers;
    long blocks;
    unsigned long checksum;
} output = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void lock_queue(void)
{
    struct counted_lock *lock = atomic_load(&queue.lock); // marker: lock-read
    atomic_fetch_add(&lock->wanted, 1); // marker: lock-used
    pthread_mutex_lock(&lock->mutex);
}

static void unlock_queue(void)
{
    struct counted_lock *lock = atomic_load(&queue.lock); // marker: lock-reread
    atomic_fetch_sub(&lock->wanted, 1); // marker: lock-released
    pthread_mutex_unlock(&lock->mutex);
}

static unsigned long compress(long block)
{
    unsigned long sum = (unsigned long)block;
    for (int i = 0; i < BLOCK_BYTES; i++)
        sum = sum * 31 + (unsigned char)(block + i);
    return sum;
}

static void write_block(unsigned long sum)
{
    pthread_mutex_lock(&output.lock);
    output.checksum ^= sum;
    output.blocks++; // marker: block-written
    pthread_cond_signal(&output.changed);
    pthread_mutex_unlock(&output.lock);
}

static void wait_for(const long *count, long wanted)
{
    pthread_mutex_lock(&output.lock);
    while (*count < wanted)
        pthread_cond_wait(&output.changed, &output.lock);
    pthread_mutex_unlock(&output.lock);
}

static void report_ready(void)
{
    pthread_mutex_lock(&output.lock);
    output.consumers++;
    pthread_cond_signal(&output.changed);
    pthread_mutex_unlock(&output.lock);
}

static void *consume(void *argument)
{
    (void)argument;
    report_ready();
    for (;;) {
        lock_queue();
        while (queue.next == queue.end && !queue.complete)
            pthread_cond_wait(&queue.changed, &queue_lock.mutex);
        if (queue.next == queue.end) {
            unlock_queue();
            return NULL;
        }
        long block = queue.next++;
        unlock_queue();
        write_block(compress(block));
    }
}

static void produce(long blocks)
{
    lock_queue();
    queue.end = blocks;
    queue.complete = true;
    pthread_cond_broadcast(&queue.changed);
    unlock_queue();
}

// What the output has to look like, worked out while the consumers are busy.
static unsigned long checksum_of(long blocks)
{
    unsigned long checksum = 0;
    for (long block = 0; block < blocks; block++)
        checksum ^= compress(block);
    return checksum;
}

int main(int argc, char **argv)
{
    long consumers = argc > 1 ? atol(argv[1]) : 1;
    long blocks = argc > 2 ? atol(argv[2]) : 24;

    queue.lock = &queue_lock;
    pthread_t threads[consumers];
    for (long i = 0; i < consumers; i++)
        pthread_create(&threads[i], NULL, consume, NULL);
    wait_for(&output.consumers, consumers);
    produce(blocks);
    unsigned long expected = checksum_of(blocks);
    wait_for(&output.blocks, blocks);

#ifdef FIXED
    for (long i = 0; i < consumers; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&queue.lock, NULL);
#else
    atomic_store(&queue.lock, NULL); // marker: queue-destroyed
    for (long i = 0; i < consumers; i++)
        pthread_join(threads[i], NULL);
#endif
    printf("%ld blocks, checksum %lx\n", blocks, output.checksum);
    return output.checksum == expected ? 0 : 1;
}
