// A web server that buffers its access log: every request renders its page and
// copies its line to the end of a common buffer. At the end the log is read back line by line.
//
//     access-log [threads] [requests per thread]

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 32, PAGE_BYTES = 16384 };

static char *log_buffer;
static atomic_long bytes_used;
static long requests;

static void log_request(const char *line)
{
#ifdef FIXED
    long start = atomic_fetch_add(&bytes_used, LINE_BYTES);
    memcpy(log_buffer + start, line, LINE_BYTES);
#else
    long start = atomic_load(&bytes_used); // marker: end-read
    memcpy(log_buffer + start, line, LINE_BYTES);
    atomic_store(&bytes_used, start + LINE_BYTES); // marker: end-moved
#endif
}

// The page's checksum, which the client gets with it.
static unsigned render(long client, long page)
{
    unsigned sum = (unsigned)client;
    for (long i = 0; i < PAGE_BYTES; i++)
        sum = sum * 31 + (unsigned char)(page + i);
    return sum;
}

static void *serve(void *argument)
{
    long client = (long)argument;
    for (long request = 0; request < requests; request++) {
        char line[LINE_BYTES + 1];
        snprintf(line, sizeof line, "client %-5ld page %-5ld %07x\n", client % 10000,
                 request % 100000, render(client, request) & 0xfffffff);
        log_request(line);
    }
    return NULL;
}

// Counts the lines that end where a line should.
static long intact_lines(void)
{
    long intact = 0;
    for (long end = LINE_BYTES; end <= atomic_load(&bytes_used); end += LINE_BYTES)
        intact += log_buffer[end - 1] == '\n';
    return intact;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 4;
    requests = argc > 2 ? atol(argv[2]) : 10;

    log_buffer = calloc(threads * requests, LINE_BYTES);
    pthread_t clients[threads];
    for (long i = 0; i < threads; i++)
        pthread_create(&clients[i], NULL, serve, (void *)i);
    for (long i = 0; i < threads; i++)
        pthread_join(clients[i], NULL);

    long lines = intact_lines();
    free(log_buffer);
    printf("%ld requests, %ld lines in the log\n", threads * requests, lines);
    return lines == threads * requests ? 0 : 1; // marker: lines-compared
}
