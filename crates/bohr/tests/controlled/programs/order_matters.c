/* What it ends with depends on the order of everything that its threads do: plain
   accesses, copies, locks of all kinds, a condition, and what is done once. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { ROUNDS = 400 };

static unsigned mixed[8];
static unsigned char text[200], copied[200];
static atomic_uint tickets;
static int available, done;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin(void) { mixed[0] = 17; }

static void mix(unsigned place, unsigned value) {
    unsigned now = mixed[place % 8];
    mixed[(place + 1) % 8] = now * 31 + value;
}

static void twice(unsigned value) {
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    mix(value, 5);
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);
}

static void *work(void *argument) {
    unsigned own = (unsigned)(unsigned long)argument;
    pthread_once(&once, begin);
    for (unsigned round = 0; round < ROUNDS; round++) {
        mix(round, own);
        if (round % 16 == own) {
            memcpy(copied + own, text, 150);
            text[round % 200] = (unsigned char)(copied[own] + round);
            mix(own, text[round % 100]);
        }
        if (round % 10 == 0) {
            pthread_mutex_lock(&mutex);
            mix(1, atomic_fetch_add(&tickets, 1));
            available++;
            pthread_cond_signal(&condition);
            pthread_mutex_unlock(&mutex);
            twice(round);
        }
        if (round % 14 == 0) {
            pthread_rwlock_rdlock(&rwlock);
            unsigned seen = mixed[3];
            pthread_rwlock_unlock(&rwlock);
            pthread_rwlock_wrlock(&rwlock);
            mixed[3] = seen + own;
            pthread_rwlock_unlock(&rwlock);
        }
        if (pthread_mutex_trylock(&mutex) == 0) {
            mix(round, 3);
            pthread_mutex_unlock(&mutex);
        }
    }
    pthread_mutex_lock(&mutex);
    done++;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    return 0;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attributes);
    pthread_t threads[3];
    for (unsigned long at = 0; at < 3; at++) {
        pthread_create(&threads[at], 0, work, (void *)at);
    }
    pthread_mutex_lock(&mutex);
    while (done < 3) {
        while (available == 0 && done < 3) {
            pthread_cond_wait(&condition, &mutex);
        }
        available = 0;
        mix(done, 7);
    }
    pthread_mutex_unlock(&mutex);
    for (int at = 0; at < 3; at++) {
        pthread_join(threads[at], 0);
    }
    unsigned sum = 0;
    for (int at = 0; at < 8; at++) {
        sum = sum * 37 + mixed[at];
    }
    return 1 + (int)((sum ^ sum >> 16) % 250);
}
