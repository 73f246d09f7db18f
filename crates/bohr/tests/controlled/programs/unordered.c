// Threads that pass something on, in a way that the argument names. Every run
// ends well.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static int message;
static atomic_int ready;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;

static memory_order store_order = memory_order_release, load_order = memory_order_acquire;
static int use_fences, use_locks, die_with_lock;
static pthread_mutex_t *first_lock = &left, *second_lock = &left;

static void lock(pthread_mutex_t *which) {
    if (use_locks) pthread_mutex_lock(which);
}

static void unlock(pthread_mutex_t *which) {
    if (use_locks) pthread_mutex_unlock(which);
}

static void *sender(void *argument) {
    lock(first_lock);
    message = (int)strlen(argument); // marker: sent
    if (!die_with_lock) unlock(first_lock);
    if (use_fences) atomic_thread_fence(memory_order_release);
    // The compiler would make a constant order of either branch.
    if (store_order == memory_order_relaxed)
        atomic_store_explicit(&ready, 1, memory_order_relaxed);
    else
        atomic_store_explicit(&ready, 1, memory_order_release);
    return argument;
}

static void *receiver(void *argument) {
    int there = load_order == memory_order_relaxed
                    ? atomic_load_explicit(&ready, memory_order_relaxed)
                    : atomic_load_explicit(&ready, memory_order_acquire);
    if (use_fences) atomic_thread_fence(memory_order_acquire);
    if (!there && !use_locks) return argument;
    lock(second_lock);
    int seen = message; // marker: received
    unlock(second_lock);
    return seen == 0 ? NULL : argument;
}

int main(int count, char **words) {
    const char *way = count > 1 ? words[1] : "";
    if (strcmp(way, "relaxed") == 0 || strcmp(way, "fences") == 0)
        store_order = load_order = memory_order_relaxed;
    use_fences = strcmp(way, "fences") == 0;
    use_locks = strstr(way, "lock") != NULL;
    if (strcmp(way, "other-lock") == 0) second_lock = &right;
    die_with_lock = strcmp(way, "lock-of-the-dead") == 0;
    if (die_with_lock) {
        pthread_mutexattr_t robust;
        pthread_mutexattr_init(&robust);
        pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&left, &robust);
    }
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, sender, (void *)way);
    pthread_create(&threads[1], NULL, receiver, (void *)way);
    pthread_join(threads[0], NULL);
    void *result;
    pthread_join(threads[1], &result);
    return result == NULL && message == 0;
}
