// A library with static names that tally.c has, too, in other places; all its threads
// hold a lock.
#include <pthread.h>

static int total;

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void put(int value) {
    total = value;
}

void careful_add(int amount) {
    pthread_mutex_lock(&guard);
    int seen = total;
    seen += amount;
    put(seen);
    pthread_mutex_unlock(&guard);
}
