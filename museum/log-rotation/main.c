// A server writes its log in segments. Writers append to the current segment;
// when it is full, whoever notices rotates the log: a fresh segment takes the
// place of the old one, whose entries are counted before it is given back.
//
//     log-rotation [writers] [entries per writer]

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEGMENT_ENTRIES = 8 };

struct segment {
    atomic_long entries;
    long number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct segment *current;
static long archived;
static long entries_per_writer;

static struct segment *new_segment(long number)
{
    struct segment *segment = malloc(sizeof *segment);
    atomic_init(&segment->entries, 0);
    segment->number = number;
    return segment;
}

// Called with the lock held.
static void rotate(void)
{
    struct segment *full = current;
    current = new_segment(full->number + 1);
    archived += atomic_load(&full->entries);
    free(full); // marker: segment-freed
}

static void append(void)
{
    pthread_mutex_lock(&lock);
    if (atomic_load(&current->entries) >= SEGMENT_ENTRIES)
        rotate();
    struct segment *segment = current; // marker: segment-chosen
#ifdef FIXED
    atomic_fetch_add(&segment->entries, 1);
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&segment->entries, 1); // marker: segment-written
#endif
}

static void *writer(void *argument)
{
    (void)argument;
    for (long i = 0; i < entries_per_writer; i++)
        append();
    return NULL;
}

int main(int argc, char **argv)
{
    long writers = argc > 1 ? atol(argv[1]) : 2;
    entries_per_writer = argc > 2 ? atol(argv[2]) : 16;

    current = new_segment(1);
    pthread_t threads[writers];
    for (long i = 0; i < writers; i++)
        pthread_create(&threads[i], NULL, writer, NULL);
    for (long i = 0; i < writers; i++)
        pthread_join(threads[i], NULL);
    archived += atomic_load(&current->entries);
    printf("%ld entries in %ld segments\n", archived, current->number);
    free(current);
}
