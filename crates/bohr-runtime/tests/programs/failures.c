// One way to fail per argument.
#define _GNU_SOURCE
#include <alloca.h>
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
static volatile int *nowhere;
static volatile int zero;
static volatile int *volatile no_block = &zero;

__attribute__((noinline)) static int overflow(int depth) {
    volatile char space[4096];
    space[depth % 4096] = 1;
    return depth < 0 ? 0 : overflow(depth + 1) + space[0];
}

static void recovers(int signal) {
    sched_yield();
    _exit(signal);
}

__attribute__((noinline)) static int calls(int depth) {
    volatile char space[16];
    space[0] = (char)depth;
    sched_yield();
    return depth < 0 ? 0 : calls(depth + 1) + space[0];
}

// Its frames are small, so what does not fit on the stack is what it calls.
static void overflow_in_call(void) {
    pthread_attr_t attributes;
    size_t size;
    signal(SIGSEGV, recovers);
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &size);
    volatile char *most = alloca(size - (64 << 10));
    most[0] = 0;
    calls(0);
}


static int watching(int descriptor) {
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &event};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) ? -1 : epoll;
}

/* Waits for several descriptors at once, of which nobody makes one ready. */
static long await(const char *way, int end) {
    struct epoll_event event;
    if (!strcmp(way, "await-epoll"))
        return epoll_wait(watching(end), &event, 1, -1);
    if (!strcmp(way, "await-epolls"))
        return epoll_wait(watching(watching(end)), &event, 1, -1);
    if (!strcmp(way, "await-select")) {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(end, &set);
        return select(end + 1, &set, 0, 0, 0);
    }
    int other = eventfd(0, 0);
    if (!strcmp(way, "await-outside"))
        other = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (!strcmp(way, "await-epoll-outside"))
        other = watching(socket(AF_UNIX, SOCK_DGRAM, 0));
    struct pollfd both[] = {{.fd = end, .events = POLLIN}, {.fd = other, .events = POLLIN}};
    return poll(both, 2, -1);
}

static void *work(void *way) {
    if (!strcmp(way, "overflow-in-call"))
        overflow_in_call();
    if (!strcmp(way, "crash"))
        *nowhere = 1;
    if (!strcmp(way, "overflow"))
        overflow(0);
    if (!strcmp(way, "divide"))
        exit(100 / zero);
    if (!strcmp(way, "abort"))
        abort();
    if (!strcmp(way, "assert"))
        assert(zero == 1);
    if (!strcmp(way, "exit"))
        exit(3);
    if (!strcmp(way, "_exit"))
        _exit(4);
    if (!strcmp(way, "spin") || !strcmp(way, "spin-in-turns"))
        for (;;)
            sched_yield();
    if (!strcmp(way, "look-again"))
        for (;;) {
            pthread_mutex_lock(&unlocked);
            pthread_mutex_unlock(&unlocked);
        }
    if (!strcmp(way, "hang"))
        for (;;)
            __asm__ volatile("");
    if (!strcmp(way, "bad-lock"))
        pthread_mutex_lock((pthread_mutex_t *)8);
    if (!strcmp(way, "double-free")) {
        void *volatile block = malloc(10);
        free(block);
        free(block);
    }
    if (!strcmp(way, "bad-free"))
        free((void *)no_block);
    if (!strcmp(way, "self-lock")) {
        pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        pthread_mutex_lock(&lock);
        pthread_mutex_lock(&lock);
    }
    int ends[2], number = -1;
    if (!strncmp(way, "await-", 6) && !pipe(ends))
        return (void *)await(way, ends[0]);
    if (!strncmp(way, "read-", 5) && !pipe(ends)) {
        // Nobody writes, and nobody else could.
        if (!strcmp(way, "read-dup"))
            number = dup(ends[0]);
        if (!strcmp(way, "read-dup3"))
            number = dup3(ends[0], 1500, O_CLOEXEC);
        if (!strcmp(way, "read-fcntl"))
            number = fcntl(ends[0], F_DUPFD_CLOEXEC, 40);
        char byte;
        return (void *)read(number, &byte, 1);
    }
    return 0;
}

static void *bystander(void *unused) {
    for (;;)
        sched_yield();
    return unused;
}

int main(int count, char **arguments) {
    pthread_t thread;
    pthread_create(&thread, 0, work, arguments[count - 1]);
    if (!strcmp(arguments[count - 1], "self-lock") ||
        !strcmp(arguments[count - 1], "spin-in-turns")) {
        // Others can still go on.
        pthread_t other;
        pthread_create(&other, 0, bystander, 0);
    }
    pthread_join(thread, 0);
    return 0;
}
