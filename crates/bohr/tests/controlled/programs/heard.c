/* Loses updates; how many rounds it goes, and by how much, is told from outside: by a
   stream that nobody sends twice, and by a file that it removes. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned long counter, added;
static unsigned long rounds, steps[8];
static pthread_barrier_t both;
static const char *stream;

static void *work(void *argument) {
    unsigned own = (unsigned)(unsigned long)argument;
    unsigned long sum = 0;
    pthread_barrier_wait(&both);
    for (unsigned long round = 0; round < rounds; round++) {
        unsigned long step = steps[(round + own) % 8];
        if (step % 2 == 1) {
            step *= 3;
        }
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

static unsigned long number(const char *text) {
    unsigned long value = 0;
    while (*text >= '0' && *text <= '9') {
        value = value * 10 + (unsigned long)(*text++ - '0');
    }
    return value;
}

/* All that comes, by the system's own calls. */
static void hear(void) {
    char text[64] = {0};
    size_t length = 0;
    int from = open(stream, O_RDONLY);
    if (from < 0) {
        exit(3);
    }
    for (;;) {
        ssize_t more = read(from, text + length, sizeof text - 1 - length);
        if (more <= 0) {
            break;
        }
        length += (size_t)more;
    }
    close(from);
    rounds = number(text);
}

/* Line by line, by the C library's buffers. */
static void look_up(const char *path) {
    char line[32];
    int count = 0;
    FILE *file = fopen(path, "r");
    if (file == 0) {
        exit(4);
    }
    while (count < 8 && fgets(line, sizeof line, file) != 0) {
        steps[count++] = number(line);
    }
    fclose(file);
}

int main(int count, char **arguments) {
    if (count < 3) {
        return 5;
    }
    stream = arguments[1];
    hear();
    look_up(arguments[2]);
    pthread_barrier_init(&both, 0, 2);
    pthread_t threads[2];
    for (unsigned long at = 0; at < 2; at++) {
        pthread_create(&threads[at], 0, work, (void *)at);
    }
    for (int at = 0; at < 2; at++) {
        pthread_join(threads[at], 0);
    }
    assert(counter == added);
    return 0;
}
