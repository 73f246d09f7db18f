// A web server caches what it serves. Content enters the cache with a guessed
// size, so that other requests for it can see that it is coming; when all of
// it has arrived the entry is taken out, given its true size, and put back.
// Inserting evicts the oldest entries until the new one fits.
//
//     cache-eviction [requests at once] [requests per thread]

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { GUESSED_SIZE = 80, TRUE_SIZE = 30, ROOM = 100 };

struct entry {
    struct entry *older;
    unsigned size;
};

static struct {
    pthread_mutex_t lock;
    struct entry *newest;
    unsigned size;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static long requests;

static struct entry *pop_oldest(void)
{
    struct entry **link = &cache.newest;
    assert(*link != NULL); // marker: queue-underflow
    while ((*link)->older != NULL)
        link = &(*link)->older;
    struct entry *oldest = *link;
    *link = NULL;
    return oldest;
}

static void insert(struct entry *entry)
{
    while (cache.size + entry->size > ROOM) { // marker: room-checked
        struct entry *evicted = pop_oldest();
        cache.size -= evicted->size;
    }
    cache.size += entry->size;
    entry->older = cache.newest;
    cache.newest = entry;
}

static void remove_entry(struct entry *entry)
{
    struct entry **link = &cache.newest;
    while (*link != NULL && *link != entry)
        link = &(*link)->older;
#ifdef FIXED
    if (*link == NULL)
        return; // it has been evicted in the meantime
#endif
    if (*link != NULL)
        *link = entry->older;
    cache.size -= entry->size; // marker: size-reduced
}

static void create_entity(struct entry *entry)
{
    pthread_mutex_lock(&cache.lock);
    entry->size = GUESSED_SIZE;
    insert(entry); // marker: guess-inserted
    pthread_mutex_unlock(&cache.lock);
}

static void write_body(struct entry *entry)
{
    pthread_mutex_lock(&cache.lock);
    remove_entry(entry);
    entry->size = TRUE_SIZE;
    insert(entry);
    pthread_mutex_unlock(&cache.lock);
}

static void *serve(void *argument)
{
    struct entry *entries = argument;
    for (long i = 0; i < requests; i++) {
        create_entity(&entries[i]);
        write_body(&entries[i]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long at_once = argc > 1 ? atol(argv[1]) : 3;
    requests = argc > 2 ? atol(argv[2]) : 4;

    struct entry *entries = calloc(at_once * requests, sizeof *entries);
    pthread_t threads[at_once];
    for (long i = 0; i < at_once; i++)
        pthread_create(&threads[i], NULL, serve, &entries[i * requests]);
    for (long i = 0; i < at_once; i++)
        pthread_join(threads[i], NULL);
    free(entries);
    printf("served %ld requests; %u bytes of %d in use\n", at_once * requests, cache.size, ROOM);
}
