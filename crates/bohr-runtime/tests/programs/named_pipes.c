// Pipes with names: who opens one end waits for the other.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/bohr-named-pipes-XXXXXX";
static char path[64];
static int opened;

static void *writes(void *unused) {
    int end = open(path, O_WRONLY);
    assert(end >= 0 && (fcntl(end, F_GETFL) & O_NONBLOCK) == 0);
    __atomic_add_fetch(&opened, 1, __ATOMIC_SEQ_CST);
    assert(write(end, "hello", 5) == 5);
    close(end);
    return unused;
}

static void *reads(void *unused) {
    FILE *end = fopen(path, "r");
    assert(end);
    char text[16] = {0};
    assert(fgets(text, sizeof text, end) && strcmp(text, "hello") == 0);
    assert(!fgets(text, sizeof text, end) && feof(end));
    fclose(end);
    return unused;
}

static void meet(void *(*first)(void *), void *(*second)(void *)) {
    pthread_t one, other;
    pthread_create(&one, 0, first, 0);
    usleep(1000);
    pthread_create(&other, 0, second, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
}

int main(void) {
    assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert(mkfifo(path, 0600) == 0);
    assert(open(path, O_WRONLY | O_NONBLOCK) == -1 && errno == ENXIO);
    for (int i = 0; i < 2; i++) {
        meet(writes, reads);
        meet(reads, writes);
    }
    assert(opened == 4);
    // Nobody to wait for.
    int both = open(path, O_RDWR);
    assert(both >= 0 && write(both, "x", 1) == 1);
    char one;
    assert(read(both, &one, 1) == 1 && one == 'x');
    close(both);
    unlink(path);
    rmdir(folder);
    return 0;
}
