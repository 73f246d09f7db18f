// Threads that are joined at once, and one that is asked for again and again.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

static void *work(void *unused) {
    sched_yield();
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    while (pthread_tryjoin_np(first, NULL) == EBUSY)
        sched_yield();
    return pthread_join(second, NULL);
}
