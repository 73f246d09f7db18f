// A thread that nobody waits for goes on while the process ends, and comes by what the
// last destructor has left.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static volatile int is_gone;

static void *work(void *unused) {
    for (int round = 0; round < 10; round++) {
        sched_yield();
        if (is_gone) abort();
    }
    return unused;
}

__attribute__((destructor)) static void destroy(void) {
    is_gone = 1;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_detach(thread);
    return 0;
}
