// A parallel file scanner: threads take files from a list and count how often
// a word occurs in them. The matcher remembers how much of the word it has
// seen, so that a match may span the pieces in which a file is read.
//
//     file-scanner [scanners] [files]

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static const char word[] = "needle";
static const char text[] = "hay hay need";
static const char more_text[] = "le hay";

enum { MATCHES_PER_FILE = 1 };

static atomic_long next_file;
static atomic_long matches;
static long files;

#ifndef FIXED
static volatile int seen_so_far;
#endif

// Feeds one piece of a file to the matcher whose memory is `seen`.
static void match(const char *piece, volatile int *seen)
{
    for (const char *at = piece; *at != '\0'; at++) {
        if (*at != word[*seen]) // marker: state-read
            *seen = 0; // marker: state-dropped
        if (*at == word[*seen]) // marker: state-matched
            *seen = *seen + 1; // marker: state-written
        if (word[*seen] == '\0') { // marker: state-compared
            atomic_fetch_add(&matches, 1);
            *seen = 0; // marker: state-cleared
        }
    }
}

static void scan_file(void)
{
#ifdef FIXED
    volatile int seen_so_far = 0;
#else
    seen_so_far = 0; // marker: state-restarted
#endif
    match(text, &seen_so_far);
    match(more_text, &seen_so_far);
}

static void *scan(void *argument)
{
    (void)argument;
    while (atomic_fetch_add(&next_file, 1) < files)
        scan_file();
    return NULL;
}

int main(int argc, char **argv)
{
    long scanners = argc > 1 ? atol(argv[1]) : 2;
    files = argc > 2 ? atol(argv[2]) : 6;

    pthread_t threads[scanners];
    for (long i = 0; i < scanners; i++)
        pthread_create(&threads[i], NULL, scan, NULL);
    for (long i = 0; i < scanners; i++)
        pthread_join(threads[i], NULL);

    printf("%ld matches in %ld files\n", atomic_load(&matches), files);
    return atomic_load(&matches) == files * MATCHES_PER_FILE ? 0 : 1; // marker: matches-compared
}
