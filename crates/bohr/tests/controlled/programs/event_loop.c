/* Waits for what is said from outside and for the word of its threads, in one place; the
   threads lose updates. */
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

enum { THREADS = 2, ROUNDS = 4 };

struct source {
    int descriptor;
    int open;
};

static unsigned long counter;
static unsigned long step;
static int wake[2];
static pthread_barrier_t both;

static void *work(void *word) {
    pthread_barrier_wait(&both);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned long seen = counter;
        if (round == 1) {
            usleep(1000);
        }
        counter = seen + step;
    }
    if (word != 0 && write(wake[1], word, 1) != 1) {
        abort();
    }
    return 0;
}

static int by_poll(struct source **sources, int count, struct source **ready) {
    struct pollfd entries[2];
    for (int at = 0; at < count; at++) {
        entries[at].fd = sources[at]->open ? sources[at]->descriptor : -1;
        entries[at].events = POLLIN;
    }
    int found = 0;
    if (poll(entries, (nfds_t)count, 10000) <= 0) {
        exit(3);
    }
    for (int at = 0; at < count; at++) {
        if (entries[at].revents != 0) {
            ready[found++] = sources[at];
        }
    }
    return found;
}

static int by_select(struct source **sources, int count, struct source **ready) {
    fd_set reads;
    int end = 0;
    FD_ZERO(&reads);
    for (int at = 0; at < count; at++) {
        if (sources[at]->open) {
            FD_SET(sources[at]->descriptor, &reads);
            end = sources[at]->descriptor >= end ? sources[at]->descriptor + 1 : end;
        }
    }
    int found = 0;
    struct timeval most = {10, 0};
    if (select(end, &reads, 0, 0, &most) <= 0) {
        exit(3);
    }
    for (int at = 0; at < count; at++) {
        if (sources[at]->open && FD_ISSET(sources[at]->descriptor, &reads)) {
            ready[found++] = sources[at];
        }
    }
    return found;
}

static int epoll;

/* Its word is an address. */
static int by_epoll(struct source **sources, int count, struct source **ready) {
    struct epoll_event events[2];
    for (int at = 0; at < count; at++) {
        if (!sources[at]->open && sources[at]->descriptor >= 0) {
            epoll_ctl(epoll, EPOLL_CTL_DEL, sources[at]->descriptor, 0);
            sources[at]->descriptor = -1;
        }
    }
    int found = epoll_wait(epoll, events, 2, 10000);
    if (found <= 0) {
        exit(3);
    }
    for (int at = 0; at < found; at++) {
        ready[at] = events[at].data.ptr;
    }
    return found;
}

typedef int waiting(struct source **sources, int count, struct source **ready);

static struct source *source(int descriptor) {
    struct source *source = malloc(sizeof *source);
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = source}};
    source->descriptor = descriptor;
    source->open = 1;
    if (epoll > 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        exit(4);
    }
    return source;
}

/* The digits that are said from outside. */
static unsigned long heard(struct source *outside) {
    char text[16];
    unsigned long sum = 0;
    ssize_t length = read(outside->descriptor, text, sizeof text);
    outside->open = length > 0;
    for (ssize_t at = 0; at < length; at++) {
        sum += (unsigned long)(text[at] - '0');
    }
    return sum;
}

int main(int count, char **arguments) {
    if (count < 3) {
        return 5;
    }
    waiting *wait = by_poll;
    int alone = arguments[1][0] == 'a';
    char way = arguments[1][alone ? 6 : 0];
    if (way == 's') {
        wait = by_select;
    }
    if (way == 'e') {
        wait = by_epoll;
        epoll = epoll_create1(0);
    }
    if (!alone && pipe(wake) != 0) {
        return 6;
    }
    struct source *outside = source(open(arguments[2], O_RDONLY));
    struct source *sources[2] = {outside, alone ? outside : source(wake[0])};
    struct source *ready[2];
    pthread_t threads[THREADS];
    int started = 0;
    int done = 0;
    pthread_barrier_init(&both, 0, THREADS);
    while (outside->open || (!alone && done < THREADS)) {
        int found = wait(sources, alone ? 1 : 2, ready);
        for (int at = 0; at < found; at++) {
            if (ready[at] == outside) {
                unsigned long sum = heard(outside);
                step = step == 0 ? sum : step;
                while (step > 0 && started < THREADS) {
                    void *word = alone ? 0 : "x";
                    pthread_create(&threads[started++], 0, work, word);
                }
            } else {
                char words[4];
                done += (int)read(wake[0], words, sizeof words);
            }
        }
    }
    for (int at = 0; at < started; at++) {
        pthread_join(threads[at], 0);
    }
    assert(counter == THREADS * ROUNDS * step);
    return 0;
}
