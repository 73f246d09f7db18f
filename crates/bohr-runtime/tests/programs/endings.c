// How threads end: results, pthread_exit, cancellation, cleanup handlers, keys.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static sem_t started;
static int cleaned, destroyed, passed;
static __thread int mine = 7;

static void destroy(void *value) {
    assert(value == &mine || value == (void *)1);
    __atomic_add_fetch(&destroyed, 1, __ATOMIC_SEQ_CST);
    if (value == &mine)
        pthread_setspecific(key, (void *)1); // a second round
}

static void clean(void *value) {
    cleaned += *(int *)value;
}

static void unlock(void *mutex) {
    cleaned += 100;
    assert(pthread_mutex_unlock(mutex) == 0);
}

static void leave(int depth) {
    int value = 1;
    pthread_cleanup_push(clean, &value);
    if (depth > 0)
        leave(depth - 1);
    else
        pthread_exit((void *)42);
    pthread_cleanup_pop(0);
}

static void *exits(void *unused) {
    assert(mine == 7);
    mine = 8;
    pthread_setspecific(key, &mine);
    leave(2);
    return unused;
}

static void *waits(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    sem_post(&started);
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(0);
    return unused;
}

static void *refuses(void *unused) {
    int old;
    assert(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old) == 0);
    assert(old == PTHREAD_CANCEL_ENABLE);
    sem_post(&started);
    usleep(1000);
    pthread_testcancel();
    passed = 1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, 0);
    pthread_testcancel();
    for (;;)
        sleep(1);
    return unused;
}

static void *returns(void *value) {
    return value;
}

static void *on_its_own(void *unused) {
    pthread_detach(pthread_self());
    sem_post(&started);
    return unused;
}

int main(void) {
    pthread_t thread;
    void *result;
    sem_init(&started, 0, 0);
    pthread_key_create(&key, destroy);

    pthread_create(&thread, 0, exits, 0);
    assert(pthread_join(thread, &result) == 0 && result == (void *)42);
    assert(cleaned == 3 && destroyed == 2);

    pthread_create(&thread, 0, waits, 0);
    sem_wait(&started);
    assert(pthread_cancel(thread) == 0);
    assert(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    assert(cleaned == 103);
    assert(pthread_mutex_lock(&lock) == 0 && pthread_mutex_unlock(&lock) == 0);

    pthread_create(&thread, 0, refuses, 0);
    sem_wait(&started);
    pthread_cancel(thread);
    assert(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    assert(passed);

    for (long i = 0; i < 20; i++) {
        pthread_create(&thread, 0, returns, (void *)i);
        assert(pthread_join(thread, &result) == 0 && result == (void *)i);
    }
    for (int i = 0; i < 5; i++) {
        pthread_create(&thread, 0, on_its_own, 0);
        sem_wait(&started);
    }
    assert(pthread_join(pthread_self(), 0) == EDEADLK);
    pthread_create(&thread, 0, returns, 0);
    pthread_exit(0); // the others go on, and the process ends with 0
}
