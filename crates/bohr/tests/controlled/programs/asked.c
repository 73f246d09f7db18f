/* Loses updates; how many, and of what size, is told by a file, in every way in which
   a stream is read, by the clock, by chance, and by another process. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static unsigned long counter, added, rounds, scale;
static pthread_barrier_t both;

static void *work(void *argument) {
    unsigned long sum = 0;
    (void)argument;
    pthread_barrier_wait(&both);
    for (unsigned long round = 0; round < rounds; round++) {
        unsigned long step = 1 + scale % 3;
        unsigned long seen = counter;
        if (round == 1) {
            usleep(1000);
        }
        counter = seen + step;
        sum += step;
    }
    __atomic_fetch_add(&added, sum, __ATOMIC_SEQ_CST);
    return 0;
}

static void look_up(const char *path) {
    char *line = 0;
    size_t room = 0;
    char block[10];
    FILE *file = fopen(path, "r");
    if (file == 0 || getline(&line, &room, file) != 6 || strcmp(line, "hello\n") != 0) {
        exit(3);
    }
    if (fread(block, 2, 3, file) != 3 || block[5] != 'f') {
        exit(4);
    }
    rounds = (unsigned long)(fgetc(file) - '0');
    if (fgetc(file) != '\n' || fgetc(file) != -1 || !feof(file)) {
        exit(5);
    }
    fclose(file);
}

int main(int count, char **arguments) {
    struct timespec now;
    pthread_t threads[2];
    if (count < 2) {
        return 6;
    }
    look_up(arguments[1]);
    clock_gettime(CLOCK_MONOTONIC, &now);
    scale = (unsigned long)now.tv_nsec + (unsigned long)rand();
    if (count > 2) {
        int number = 0;
        FILE *other = popen(arguments[2], "r");
        if (other == 0 || fscanf(other, "%d", &number) != 1) {
            return 7;
        }
        pclose(other);
        scale += (unsigned long)number;
    }
    pthread_barrier_init(&both, 0, 2);
    for (int at = 0; at < 2; at++) {
        pthread_create(&threads[at], 0, work, 0);
    }
    for (int at = 0; at < 2; at++) {
        pthread_join(threads[at], 0);
    }
    assert(counter == added);
    return 0;
}
