// A lock or the like in a heap block that another thread has freed, used in the way
// that the argument names; with `right`, objects that end when they may.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_rwlock_t rwlock;
    pthread_barrier_t barrier;
    pthread_spinlock_t spin;
    pthread_once_t once;
    sem_t semaphore;
    mtx_t plain;
    cnd_t plain_condition;
    int ready;
};

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

static struct shared *create(void) {
    struct shared *shared = calloc(1, sizeof *shared);
    pthread_mutex_init(&shared->mutex, NULL);
    pthread_cond_init(&shared->condition, NULL);
    pthread_rwlock_init(&shared->rwlock, NULL);
    pthread_barrier_init(&shared->barrier, NULL, 2);
    pthread_spin_init(&shared->spin, PTHREAD_PROCESS_PRIVATE);
    sem_init(&shared->semaphore, 0, 1);
    mtx_init(&shared->plain, mtx_plain);
    cnd_init(&shared->plain_condition);
    return shared;
}

static void *owner(void *argument) {
    free(argument); // marker: freed
    return NULL;
}

static void nothing(void) {}

static void use(struct shared *shared, const char *how) {
    if (!strcmp(how, "lock")) pthread_mutex_lock(&shared->mutex); // marker: lock
    if (!strcmp(how, "trylock")) pthread_mutex_trylock(&shared->mutex); // marker: trylock
    if (!strcmp(how, "unlock")) pthread_mutex_unlock(&shared->mutex); // marker: unlock
    if (!strcmp(how, "signal")) pthread_cond_signal(&shared->condition); // marker: signal
    if (!strcmp(how, "broadcast")) pthread_cond_broadcast(&shared->condition); // marker: broadcast
    if (!strcmp(how, "wait")) pthread_cond_wait(&shared->condition, &own); // marker: wait
    if (!strcmp(how, "read")) pthread_rwlock_rdlock(&shared->rwlock); // marker: read
    if (!strcmp(how, "write")) pthread_rwlock_wrlock(&shared->rwlock); // marker: write
    if (!strcmp(how, "release")) pthread_rwlock_unlock(&shared->rwlock); // marker: release
    if (!strcmp(how, "arrive")) pthread_barrier_wait(&shared->barrier); // marker: arrive
    if (!strcmp(how, "spin")) pthread_spin_lock(&shared->spin); // marker: spin
    if (!strcmp(how, "once")) pthread_once(&shared->once, nothing); // marker: once
    if (!strcmp(how, "post")) sem_post(&shared->semaphore); // marker: post
    if (!strcmp(how, "take")) sem_wait(&shared->semaphore); // marker: take
    if (!strcmp(how, "mtx")) mtx_lock(&shared->plain); // marker: mtx
    if (!strcmp(how, "cnd")) cnd_signal(&shared->plain_condition); // marker: cnd
}

// Whoever has waited may end the condition, the semaphore and the barrier as soon as it
// goes on, and whoever unlocks last the mutex.
static void *waiter(void *argument) {
    struct shared *shared = argument;
    pthread_mutex_lock(&shared->mutex);
    while (!shared->ready) pthread_cond_wait(&shared->condition, &shared->mutex);
    pthread_mutex_unlock(&shared->mutex);
    sem_wait(&shared->semaphore);
    return NULL;
}

static void *follower(void *argument) {
    pthread_cond_t *condition = ((void **)argument)[0];
    int *ready = ((void **)argument)[1];
    pthread_mutex_lock(&own);
    while (!*ready) pthread_cond_wait(condition, &own);
    pthread_mutex_unlock(&own);
    return NULL;
}

static void right(void) {
    pthread_t thread;
    struct shared *shared = create();
    pthread_create(&thread, NULL, waiter, shared);
    pthread_mutex_lock(&shared->mutex);
    shared->ready = 1;
    pthread_cond_signal(&shared->condition);
    pthread_mutex_unlock(&shared->mutex);
    pthread_join(thread, NULL);
    free(shared);
    // Once all are woken, a condition may go, before those who wait go on.
    pthread_cond_t *condition = malloc(sizeof *condition);
    int ready = 0;
    pthread_cond_init(condition, NULL);
    void *both[] = {condition, &ready};
    pthread_create(&thread, NULL, follower, both);
    pthread_mutex_lock(&own);
    ready = 1;
    pthread_cond_broadcast(condition);
    pthread_cond_destroy(condition);
    free(condition);
    // Whoever has not yet begun to wait sees that it need not.
    pthread_mutex_unlock(&own);
    pthread_join(thread, NULL);
}

int main(int count, char **arguments) {
    if (count < 2 || !strcmp(arguments[1], "right")) {
        right();
        return 0;
    }
    struct shared *shared = create(); // marker: made
    pthread_t thread;
    pthread_create(&thread, NULL, owner, shared);
    pthread_join(thread, NULL);
    pthread_mutex_lock(&own);
    use(shared, arguments[1]);
    return 0;
}
