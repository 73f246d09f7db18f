// A download accelerator: each thread fetches its own part of a file in
// pieces and adds what it got to a common counter. When the download ends (or
// is interrupted) the counter is saved, so that the download can be resumed.
//
//     download-progress [connections] [pieces per connection]

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE_BYTES = 512 };

// Volatile, because several threads write it.
static volatile long bytes_written;
static long pieces;

struct part {
    long first_byte;
    unsigned long checksum;
};

// Stands for the network: a piece whose bytes follow from its position.
static unsigned long fetch_piece(long position)
{
    unsigned long sum = 0;
    for (long i = 0; i < PIECE_BYTES; i++)
        sum = sum * 33 + (unsigned char)(position + i);
    return sum;
}

static void add_progress(long bytes)
{
#ifdef FIXED
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
#endif
    long before = bytes_written;    // marker: progress-read
    bytes_written = before + bytes; // marker: progress-written
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
}

static void *download(void *argument)
{
    struct part *part = argument;
    for (long piece = 0; piece < pieces; piece++) {
        part->checksum ^= fetch_piece(part->first_byte + piece * PIECE_BYTES);
        add_progress(PIECE_BYTES);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long connections = argc > 1 ? atol(argv[1]) : 3;
    pieces = argc > 2 ? atol(argv[2]) : 20;

    pthread_t threads[connections];
    struct part parts[connections];
    for (long i = 0; i < connections; i++) {
        parts[i] = (struct part){.first_byte = i * pieces * PIECE_BYTES};
        pthread_create(&threads[i], NULL, download, &parts[i]);
    }
    unsigned long checksum = 0;
    for (long i = 0; i < connections; i++) {
        pthread_join(threads[i], NULL);
        checksum ^= parts[i].checksum;
    }
    assert(bytes_written == connections * pieces * PIECE_BYTES); // marker: progress-complete
    printf("%ld bytes, checksum %lx\n", bytes_written, checksum);
}
