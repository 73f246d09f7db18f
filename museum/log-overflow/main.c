// A log buffer of one page with a guard page behind it. Threads write records
// of fixed size; whoever finds that its record would not fit any more empties
// the buffer first.
//
//     log-overflow [threads] [records per thread]

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096, RECORD_BYTES = 512 };

static char *page;
static atomic_long bytes_used;
static atomic_long pages_written;
static long records;

static void flush(void)
{
    atomic_fetch_add(&pages_written, 1);
    atomic_store(&bytes_used, 0);
}

static void write_record(int filler)
{
#ifdef FIXED
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
#endif
    if (atomic_load(&bytes_used) + RECORD_BYTES > PAGE_BYTES) // marker: room-checked
        flush();
    long start = atomic_fetch_add(&bytes_used, RECORD_BYTES); // marker: room-taken
    memset(page + start, filler, RECORD_BYTES);               // marker: record-written
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
}

static void *work(void *argument)
{
    int filler = 'a' + (int)(long)argument;
    for (long i = 0; i < records; i++)
        write_record(filler);
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 3;
    records = argc > 2 ? atol(argv[2]) : 12;

    page = mmap(NULL, 2 * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE) != 0) {
        perror("log-overflow");
        return 2;
    }
    pthread_t workers[threads];
    for (long i = 0; i < threads; i++)
        pthread_create(&workers[i], NULL, work, (void *)i);
    for (long i = 0; i < threads; i++)
        pthread_join(workers[i], NULL);
    printf("%ld records, %ld pages\n", threads * records, atomic_load(&pages_written));
    munmap(page, 2 * PAGE_BYTES);
}
