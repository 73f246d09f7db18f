// Threads that wait and are called away: by a handler, by a cancellation; waits until
// a time that is none; and flags of floating point that belong to one thread.
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static sem_t ready;
static pthread_t main_thread, inner;
static volatile int handled;

static void check(int truth) {
    if (!truth) abort();
}

static void count(int signal) {
    (void)signal;
    handled++;
}

static void give_lock_back(int signal) {
    (void)signal;
    pthread_mutex_unlock(&lock);
}

static void unlock(void *unused) {
    (void)unused;
    pthread_mutex_unlock(&lock);
}

static void *arrive(void *unused) {
    pthread_barrier_wait(&both);
    return unused;
}

static void *take(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *join_holding(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, NULL);
    pthread_create(&inner, NULL, take, NULL);
    sem_post(&ready);
    pthread_join(inner, NULL);
    pthread_cleanup_pop(1);
    return unused;
}

static void *call_main(void *unused) {
    pthread_kill(main_thread, SIGUSR1);
    return unused;
}

static void *block_for_good(void *unused) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_mutex_lock(&lock);
    return unused;
}

static void *divide(void *unused) {
    static volatile long double zero;
    check(fetestexcept(FE_ALL_EXCEPT) == 0);
    zero = 1 / zero;
    check(fetestexcept(FE_DIVBYZERO) != 0);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    check(fetestexcept(FE_DIVBYZERO) != 0);
    return unused;
}

// A handler runs in a thread that has arrived at a barrier.
static void at_a_barrier(void) {
    pthread_t thread;
    signal(SIGUSR1, count);
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, arrive, NULL);
    pthread_kill(thread, SIGUSR1);
    pthread_barrier_wait(&both);
    pthread_join(thread, NULL);
}

// A circle that a cancellation breaks.
static void cancelled(void) {
    pthread_t thread;
    sem_init(&ready, 0, 0);
    pthread_create(&thread, NULL, join_holding, NULL);
    sem_wait(&ready);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    pthread_join(inner, NULL);
}

// A circle that a handler breaks.
static void called(void) {
    pthread_t caller, taker;
    signal(SIGUSR1, give_lock_back);
    main_thread = pthread_self();
    pthread_mutex_lock(&lock);
    pthread_create(&caller, NULL, call_main, NULL);
    pthread_create(&taker, NULL, take, NULL);
    pthread_join(taker, NULL);
    pthread_join(caller, NULL);
}

// A wait that ends at any moment.
static void at_any_moment(void) {
    pthread_t thread;
    void *result;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, block_for_good, NULL);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    check(result == PTHREAD_CANCELED);
    pthread_mutex_unlock(&lock);
}

static void no_time(void) {
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
    const struct timespec none = {0, 1000000000};
    sem_init(&ready, 0, 0);
    check(sem_timedwait(&ready, &none) == -1 && errno == EINVAL);
    check(pthread_rwlock_timedwrlock(&shared, &none) == EINVAL);
    check(pthread_mutex_timedlock(&lock, &none) == 0);
    check(pthread_cond_timedwait(&condition, &lock, &none) == EINVAL);
    pthread_mutex_unlock(&lock);
}

static void floating_point(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, divide, NULL);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    check(fetestexcept(FE_ALL_EXCEPT) == 0);
    pthread_join(thread, NULL);
    check(fetestexcept(FE_ALL_EXCEPT) == 0);
}

int main(void) {
    at_a_barrier();
    cancelled();
    called();
    at_any_moment();
    no_time();
    floating_point();
    return 0;
}
