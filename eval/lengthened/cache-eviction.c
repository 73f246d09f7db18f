// cache-eviction, after requests that nobody disturbed.
//
//     cache-eviction [requests at once] [requests per thread] [rounds before]

#define main exhibit_main
#include "../../museum/cache-eviction/main.c"
#include "preceding.h"

// More than the cache has room for: when one comes up again it has been evicted.
static struct entry served[8];
static long next_served;

static void begin_work(void) {}

static void round_of_work(long number)
{
    (void)number;
    struct entry *entry = &served[next_served++ % 8];
    create_entity(entry);
    write_body(entry);
}

static void end_work(void)
{
    cache.newest = NULL;
    cache.size = 0;
}
