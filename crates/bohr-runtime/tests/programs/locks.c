// Reader-writer locks, spin locks, barriers, once, semaphores.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static pthread_rwlock_t guard = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t polite;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t permits;
static int readers, writers, counter, initialised, serial, phase[3], holders;

static void initialise(void) {
    assert(initialised == 0);
    initialised++;
}

static void *read_or_write(void *writes) {
    for (int i = 0; i < 3; i++) {
        if (writes) {
            assert(pthread_rwlock_wrlock(&guard) == 0);
            assert(readers == 0 && writers++ == 0);
            assert(pthread_rwlock_rdlock(&guard) == EDEADLK);
            writers--;
        } else {
            assert(pthread_rwlock_rdlock(&guard) == 0);
            readers++;
            assert(writers == 0);
            readers--;
        }
        assert(pthread_rwlock_unlock(&guard) == 0);
    }
    return 0;
}

static void *write_once(void *unused) {
    assert(pthread_rwlock_wrlock(&polite) == 0);
    assert(pthread_rwlock_unlock(&polite) == 0);
    return unused;
}

// A writer that waits keeps readers out, whoever reads already, until it gives up.
static void let_writers_go_first(void) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&polite, &attributes);
    assert(pthread_rwlock_rdlock(&polite) == 0 && pthread_rwlock_tryrdlock(&polite) == 0);
    assert(pthread_rwlock_unlock(&polite) == 0);
    struct timespec past = {0};
    assert(pthread_rwlock_timedwrlock(&polite, &past) == ETIMEDOUT);
    pthread_t writer;
    pthread_create(&writer, 0, write_once, 0);
    int refused;
    while ((refused = pthread_rwlock_tryrdlock(&polite)) == 0) {
        assert(pthread_rwlock_unlock(&polite) == 0);
        sched_yield();
    }
    assert(refused == EBUSY && pthread_rwlock_timedrdlock(&polite, &past) == ETIMEDOUT);
    assert(pthread_rwlock_unlock(&polite) == 0);
    pthread_join(writer, 0);
    assert(pthread_rwlock_rdlock(&polite) == 0 && pthread_rwlock_unlock(&polite) == 0);
}

static void *in_step(void *number) {
    long self = (long)number;
    for (int round = 1; round <= 3; round++) {
        phase[self] = round;
        int result = pthread_barrier_wait(&barrier);
        if (result == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_add_fetch(&serial, 1, __ATOMIC_SEQ_CST);
        else
            assert(result == 0);
        for (int other = 0; other < 3; other++)
            assert(phase[other] >= round);
        pthread_barrier_wait(&barrier);
    }
    assert(pthread_once(&once, initialise) == 0 && initialised == 1);
    pthread_spin_lock(&spin);
    counter++;
    pthread_spin_unlock(&spin);
    sem_wait(&permits);
    assert(__atomic_add_fetch(&holders, 1, __ATOMIC_SEQ_CST) <= 2);
    sched_yield();
    __atomic_sub_fetch(&holders, 1, __ATOMIC_SEQ_CST);
    sem_post(&permits);
    return 0;
}

int main(void) {
    pthread_spin_init(&spin, 0);
    pthread_barrier_init(&barrier, 0, 3);
    sem_init(&permits, 0, 2);
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, read_or_write, i == 0 ? &guard : 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, in_step, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    assert(serial == 3 && counter == 3);
    assert(pthread_spin_trylock(&spin) == 0 && pthread_spin_trylock(&spin) == EBUSY);

    let_writers_go_first();
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 100;
    assert(sem_wait(&permits) == 0 && sem_trywait(&permits) == 0);
    assert(sem_trywait(&permits) == -1 && errno == EAGAIN);
    assert(sem_timedwait(&permits, &soon) == -1 && errno == ETIMEDOUT);
    soon.tv_sec += 100;
    assert(pthread_rwlock_rdlock(&guard) == 0);
    assert(pthread_rwlock_timedwrlock(&guard, &soon) == ETIMEDOUT);
    assert(pthread_rwlock_tryrdlock(&guard) == 0);
    assert(pthread_rwlock_trywrlock(&guard) == EBUSY);
    assert(pthread_barrier_destroy(&barrier) == 0);
    return 0;
}
