// log-rotation, after entries that were written one by one. Segments are given
// back as a guarding allocator does it: whoever uses one afterwards crashes
// there and then.
//
//     log-rotation [writers] [entries per writer] [rounds before]

#include <stdlib.h>
#include <sys/mman.h>

enum { GUARDED_BYTES = 4096 };

static void *guarded_malloc(size_t size)
{
    (void)size;
    return mmap(NULL, GUARDED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void guarded_free(void *object)
{
    mprotect(object, GUARDED_BYTES, PROT_NONE);
}

#define malloc guarded_malloc
#define free guarded_free
#define main exhibit_main
#include "../../museum/log-rotation/main.c"
#include "preceding.h"

static void begin_work(void)
{
    current = new_segment(1);
}

static void round_of_work(long number)
{
    (void)number;
    append();
}

static void end_work(void)
{
    free(current);
    archived = 0;
}
