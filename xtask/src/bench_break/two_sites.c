// Two threads that work by themselves for some hundred nanoseconds, and then for a moment
// together. Breakpoints that let everybody pass are set on what they do together.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { ROUNDS = 100000, WORK = 1500 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t total;

static void *work(void *argument) {
    uint64_t state = (uint64_t)(uintptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        for (int step = 0; step < WORK; step++)
            state = state * 6364136223846793005u + 1442695040888963407u;
        pthread_mutex_lock(&lock); // first site
        total += state & 1;        // second site
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, work, (void *)1);
    pthread_create(&other, NULL, work, (void *)2);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    printf("%lu\n", (unsigned long)total);
    return 0;
}
