/* Loses updates; how many rounds it goes is told by a server, and by how much, by the
   size of a file. Its threads also talk to each other, by a pipe and a connection of
   their own, which come again by themselves. */
#include <arpa/inet.h>
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned long counter, added;
static unsigned long rounds, size;
static int pipes[2];
static struct sockaddr_in own;

static void *work(void *argument) {
    (void)argument;
    unsigned long sum = 0;
    char go;
    if (read(pipes[0], &go, 1) != 1 || go != 'g') {
        exit(6);
    }
    for (unsigned long round = 0; round < rounds; round++) {
        unsigned long step = (size >> round % 8 & 1) != 0 ? 3 : 2;
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

static void *call(void *argument) {
    int to = socket(AF_INET, SOCK_STREAM, 0);
    (void)argument;
    if (connect(to, (struct sockaddr *)&own, sizeof own) != 0 || send(to, "gg", 2, 0) != 2) {
        exit(7);
    }
    close(to);
    return 0;
}

/* A number from whoever listens at a port of this machine. */
static unsigned long ask(const char *port) {
    struct sockaddr_in there = {.sin_family = AF_INET};
    char text[32] = {0};
    int to = socket(AF_INET, SOCK_STREAM, 0);
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = htons((unsigned short)atoi(port));
    if (connect(to, (struct sockaddr *)&there, sizeof there) != 0 || write(to, "?", 1) != 1) {
        exit(3);
    }
    for (size_t length = 0; length < sizeof text - 1; length++) {
        if (recv(to, text + length, 1, 0) != 1) {
            break;
        }
    }
    close(to);
    return strtoul(text, 0, 10);
}

int main(int count, char **arguments) {
    struct stat told;
    socklen_t length = sizeof own;
    pthread_t threads[3];
    char both[2];
    if (count < 3) {
        return 5;
    }
    rounds = ask(arguments[1]);
    if (access(arguments[2], R_OK) != 0 || stat(arguments[2], &told) != 0 || pipe(pipes) != 0) {
        return 4;
    }
    size = (unsigned long)told.st_size;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&own, sizeof own) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&own, &length) != 0) {
        return 8;
    }
    pthread_create(&threads[0], 0, work, 0);
    pthread_create(&threads[1], 0, work, 0);
    pthread_create(&threads[2], 0, call, 0);
    int caller = accept(listener, 0, 0);
    if (recv(caller, both, 2, MSG_WAITALL) != 2 || write(pipes[1], both, 2) != 2) {
        return 9;
    }
    for (int at = 0; at < 3; at++) {
        pthread_join(threads[at], 0);
    }
    assert(counter == added);
    return 0;
}
