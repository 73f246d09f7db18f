// Pipes, socket pairs, event counters, poll, select, epoll between threads.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2], sockets[2], counter;
enum { LARGE = 300000 };

static void *answer(void *unused) {
    char text[8] = {0};
    assert(read(ends[0], text, 5) == 5 && !strcmp(text, "hello"));
    uint64_t three = 3;
    assert(write(counter, &three, 8) == 8);
    assert(recv(sockets[1], text, 2, 0) == 2);
    assert(send(sockets[1], "ok", 2, 0) == 2);
    return unused;
}

static void *pour(void *unused) {
    char *bytes = malloc(LARGE);
    memset(bytes, 'x', LARGE);
    assert(write(ends[1], bytes, LARGE) == LARGE);
    free(bytes);
    return unused;
}

int main(void) {
    // Whoever reads what is printed, and also if nobody does.
    assert(write(1, (void *)16, 5) == -1 && errno == EFAULT);

    pthread_t thread;
    assert(pipe(ends) == 0 && (counter = eventfd(0, 0)) >= 0);
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    pthread_create(&thread, 0, answer, 0);
    assert(write(ends[1], "hello", 5) == 5);
    struct pollfd entry = {.fd = counter, .events = POLLIN};
    assert(poll(&entry, 1, -1) == 1 && entry.revents == POLLIN);
    uint64_t value;
    assert(read(counter, &value, 8) == 8 && value == 3);
    assert(send(sockets[0], "go", 2, 0) == 2);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(sockets[0], &set);
    assert(select(sockets[0] + 1, &set, 0, 0, 0) == 1 && FD_ISSET(sockets[0], &set));
    char text[2];
    assert(recv(sockets[0], text, 2, 0) == 2);
    pthread_join(thread, 0);

    // Nothing comes: time-outs pass in virtual time.
    assert(poll(&entry, 1, 1000000) == 0);
    assert(recv(sockets[0], text, 2, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = ends[0]};
    assert(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
    assert(epoll_wait(epoll, &event, 1, 1000000) == 0);

    // More than a pipe holds.
    pthread_create(&thread, 0, pour, 0);
    long total = 0;
    static char bytes[5000];
    while (total < LARGE) {
        assert(epoll_wait(epoll, &event, 1, -1) == 1);
        long count = read(ends[0], bytes, sizeof bytes);
        assert(count > 0 && bytes[0] == 'x');
        total += count;
    }
    pthread_join(thread, 0);
    return 0;
}
