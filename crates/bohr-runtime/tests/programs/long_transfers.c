// Transfers of more than a pipe or a socket holds, by every call that makes them, and
// writes that nobody can read.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LARGE = 600000, FIRST = 250000 };

static char sent[LARGE], received[LARGE];
static volatile sig_atomic_t broken;

static void *drain(void *descriptor) {
    memset(received, 0, LARGE);
    for (long total = 0; total < LARGE;) {
        long count = read(*(int *)descriptor, received + total, LARGE - total);
        assert(count > 0);
        total += count;
    }
    assert(memcmp(sent, received, LARGE) == 0);
    return 0;
}

static void *drip(void *descriptor) {
    assert(send(*(int *)descriptor, "ab", 2, 0) == 2);
    assert(send(*(int *)descriptor, "cd", 2, 0) == 2);
    return 0;
}

static long put(int way, int socket, int pipe) {
    struct iovec pieces[] = {{sent, FIRST}, {sent + FIRST, LARGE - FIRST}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    switch (way) {
    case 0:
        return send(socket, sent, LARGE, 0);
    case 1:
        return sendto(socket, sent, LARGE, 0, 0, 0);
    case 2:
        return sendmsg(socket, &message, 0);
    case 3:
        return writev(socket, pieces, 2);
    case 4:
        return writev(pipe, pieces, 2);
    case 5:
        return write(pipe, sent, LARGE);
    default: {
        FILE *stream = fdopen(dup(pipe), "w");
        long count = fwrite(sent, 1, LARGE, stream);
        fclose(stream);
        return count;
    }
    }
}

static void is_broken(int signal) {
    assert(signal == SIGPIPE);
    broken++;
}

int main(void) {
    int sockets[2], ends[2];
    pthread_t thread;
    for (int at = 0; at < LARGE; at++)
        sent[at] = (char)(at % 251);
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0 && pipe(ends) == 0);
    for (int way = 0; way < 7; way++) {
        pthread_create(&thread, 0, drain, way < 4 ? &sockets[1] : &ends[0]);
        assert(put(way, sockets[0], ends[1]) == LARGE);
        pthread_join(thread, 0);
    }

    struct iovec pieces[] = {{received, 1}, {received + 1, 3}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    for (int way = 0; way < 3; way++) {
        pthread_create(&thread, 0, drip, &sockets[1]);
        long count = way == 0   ? recv(sockets[0], received, 4, MSG_WAITALL)
                     : way == 1 ? recvfrom(sockets[0], received, 4, MSG_WAITALL, 0, 0)
                                : recvmsg(sockets[0], &message, MSG_WAITALL);
        assert(count == 4 && memcmp(received, "abcd", 4) == 0);
        pthread_join(thread, 0);
    }

    // The handler has run when the call returns, once for each.
    signal(SIGPIPE, is_broken);
    close(ends[0]);
    close(sockets[1]);
    assert(write(ends[1], sent, 1) == -1 && errno == EPIPE && broken == 1);
    assert(write(ends[1], sent, LARGE) == -1 && errno == EPIPE && broken == 2);
    assert(send(sockets[0], sent, LARGE, 0) == -1 && errno == EPIPE && broken == 3);
    assert(send(sockets[0], sent, LARGE, MSG_NOSIGNAL) == -1 && errno == EPIPE && broken == 3);
    return 0;
}
