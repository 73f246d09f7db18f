/* Loses updates; how many rounds it goes, and by which branches, depends on the time
   and on chance. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static unsigned long counter, added;
static unsigned rounds[2];
static unsigned char chance[11];
static pthread_barrier_t both;

static void *work(void *argument) {
    unsigned own = (unsigned)(unsigned long)argument;
    struct timeval now;
    gettimeofday(&now, 0);
    unsigned drawn = (unsigned)rand() % 4;
    unsigned long sum = 0;
    pthread_barrier_wait(&both);
    for (unsigned round = 0; round < rounds[own]; round++) {
        unsigned long step = 1;
        if ((chance[round % sizeof chance] >> (round % 8) & 1) != 0) {
            step = 2 + (unsigned long)now.tv_usec % 3;
        }
        if (round % 4 == drawn) {
            step += 5;
        }
        unsigned long seen = counter;
        if (round == 100) {
            usleep(1000);
        }
        counter = seen + step;
        sum += step;
    }
    __atomic_fetch_add(&added, sum, __ATOMIC_SEQ_CST);
    return 0;
}

int main(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    srand((unsigned)time(0) ^ (unsigned)now.tv_nsec);
    getrandom(chance, sizeof chance, 0);
    rounds[0] = 200 + (unsigned)now.tv_nsec % 1000;
    rounds[1] = 200 + (unsigned)rand() % 1000;
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
