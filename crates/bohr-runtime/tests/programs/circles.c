// Threads that go round in circles, one way per argument.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *way;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static int counts[2], said, file;

static int is(const char *name) { return strcmp(way, name) == 0; }

// Gives up what it has when it cannot have both, as the other one does, for ever.
static void polite(pthread_mutex_t *first, pthread_mutex_t *second) {
    for (;;) {
        pthread_mutex_lock(first);
        pthread_mutex_trylock(second) || pthread_mutex_unlock(second);
        pthread_mutex_unlock(first);
    }
}

// Gets somewhere as far as the kernel knows, and only there.
static void read_on(void) {
    for (char zero = 0, more = 1; more;) {
        pthread_mutex_lock(&left);
        more = read(file, &zero, 1) == 1;
        pthread_mutex_unlock(&left);
    }
}

static void *work(void *number) {
    int self = *(int *)number;
    if (is("yields"))
        for (;;) sched_yield();
    if (is("sleeps"))
        for (;;) usleep(1000);
    if (is("locks")) polite(self ? &left : &right, self ? &right : &left);
    if (is("counts"))
        for (;;) counts[self]++, sched_yield();
    if (is("reads")) read_on();
    if (is("polls"))
        for (struct pollfd outside = {0, POLLIN, 0};;) poll(&outside, 1, 0), sched_yield();
    // Two of these are many events, and each of them comes to its end.
    // One waits for what the other one says, and looks under the lock that it takes.
    if (is("asks") || is("asks-later")) {
        if (!self && is("asks-later")) sched_yield();
        for (int heard = 0; !heard;) {
            pthread_mutex_lock(&left);
            pthread_mutex_lock(&right);
            if (self) said = 1;
            heard = said;
            pthread_mutex_unlock(&right);
            pthread_mutex_unlock(&left);
        }
    }
    if (is("gives-up"))
        for (int i = 0; i < 300000; i++) sched_yield();
    return 0;
}

int main(int count, char **arguments) {
    way = arguments[count - 1];
    file = memfd_create("zeroes", 0);
    if (is("reads") && ftruncate(file, 350000) != 0) return 1;
    pthread_t threads[2];
    int numbers[2] = {0, 1};
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
