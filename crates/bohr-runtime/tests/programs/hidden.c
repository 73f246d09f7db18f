// Waits inside the C library: buffered input from a pipe, locks of streams, and
// sleeps that no shadowed name makes.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static FILE *lines;
static int ends[2];

static void *feed(void *unused) {
    for (int i = 0; i < 3; i++) {
        sched_yield();
        assert(write(ends[1], "line\n", 5) == 5);
    }
    close(ends[1]);
    return unused;
}

static void *hold(void *unused) {
    for (int i = 0; i < 3; i++) {
        flockfile(stdout);
        sched_yield(); // others want the stream now
        fputs_unlocked("whole ", stdout);
        sched_yield();
        fputs_unlocked("line\n", stdout);
        funlockfile(stdout);
    }
    return unused;
}

int main(void) {
    char line[16];
    pthread_t threads[3];
    assert(pipe(ends) == 0 && (lines = fdopen(ends[0], "r")));
    pthread_create(&threads[0], 0, feed, 0);
    for (int i = 0; i < 3; i++)
        assert(fgets(line, sizeof line, lines) && !strcmp(line, "line\n"));
    assert(!fgets(line, sizeof line, lines) && feof(lines));
    pthread_join(threads[0], 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, hold, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return 0;
}
