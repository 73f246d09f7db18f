// Two threads that each take two locks, one inside the other, as the argument says. With
// a second argument the program ends with that exit code.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t outside = PTHREAD_RWLOCK_INITIALIZER, inside = PTHREAD_RWLOCK_INITIALIZER;

static const char *way;

static bool is(const char *name) { return strcmp(way, name) == 0; }

static void enter(void) {
    if (is("gate")) pthread_mutex_lock(&gate);
}

static void leave(void) {
    if (is("gate")) pthread_mutex_unlock(&gate);
}

/* Whether it has the lock then. */
static bool take_inner(pthread_mutex_t *lock) {
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 1;
    if (is("tried")) return pthread_mutex_trylock(lock) == 0;
    if (is("timed")) return pthread_mutex_timedlock(lock, &soon) == 0;
    return pthread_mutex_lock(lock) == 0; // marker: right-inside
}

static void *rightwards(void *unused) {
    enter();
    pthread_mutex_lock(&left); // marker: left-outside
    if (take_inner(&right)) pthread_mutex_unlock(&right);
    pthread_mutex_unlock(&left);
    leave();
    return unused;
}

static void *leftwards(void *unused) {
    enter();
    pthread_mutex_lock(&right); // marker: right-outside
    pthread_mutex_lock(&left);  // marker: left-inside
    pthread_mutex_unlock(&left);
    pthread_mutex_unlock(&right);
    leave();
    return unused;
}

static void *read_both(void *unused) {
    bool first = unused == NULL;
    pthread_rwlock_rdlock(first ? &outside : &inside);
    pthread_rwlock_rdlock(first ? &inside : &outside);
    pthread_rwlock_unlock(first ? &inside : &outside);
    pthread_rwlock_unlock(first ? &outside : &inside);
    return unused;
}

int main(int count, char **words) {
    way = count > 1 ? words[1] : "crossed";
    pthread_t one, other;
    pthread_create(&one, NULL, is("readers") ? read_both : rightwards, NULL);
    if (is("joined")) pthread_join(one, NULL);
    pthread_create(&other, NULL, is("readers") ? read_both : leftwards, is("readers") ? &way : NULL);
    if (!is("joined")) pthread_join(one, NULL);
    pthread_join(other, NULL);
    return count > 2 ? atoi(words[2]) : 0;
}
