// Primitives that processes could share, in memory that is shared, used by
// threads of one process.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

enum { THREADS = 3, ROUNDS = 4 };

struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_rwlock_t lock;
    pthread_barrier_t barrier;
    pthread_spinlock_t spinlock;
    sem_t semaphore;
    int turn, counted, spun;
};

static struct shared *shared;

static void *work(void *argument) {
    int number = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&shared->mutex);
        while (shared->turn % THREADS != number)
            pthread_cond_wait(&shared->condition, &shared->mutex);
        shared->turn++;
        pthread_cond_broadcast(&shared->condition);
        pthread_mutex_unlock(&shared->mutex);
        pthread_rwlock_wrlock(&shared->lock);
        shared->counted++;
        pthread_rwlock_unlock(&shared->lock);
        pthread_spin_lock(&shared->spinlock);
        shared->spun++;
        pthread_spin_unlock(&shared->spinlock);
        pthread_barrier_wait(&shared->barrier);
        pthread_rwlock_rdlock(&shared->lock);
        assert(shared->counted >= (round + 1) * THREADS);
        pthread_rwlock_unlock(&shared->lock);
    }
    sem_post(&shared->semaphore);
    return NULL;
}

int main(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(shared != MAP_FAILED);
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    pthread_rwlockattr_t lock;
    pthread_barrierattr_t barrier;
    pthread_mutexattr_init(&mutex);
    pthread_condattr_init(&condition);
    pthread_rwlockattr_init(&lock);
    pthread_barrierattr_init(&barrier);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_rwlockattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutex, &mutex);
    pthread_cond_init(&shared->condition, &condition);
    pthread_rwlock_init(&shared->lock, &lock);
    pthread_barrier_init(&shared->barrier, &barrier, THREADS);
    pthread_spin_init(&shared->spinlock, PTHREAD_PROCESS_SHARED);
    sem_init(&shared->semaphore, 1, 0);
    pthread_t threads[THREADS];
    for (long number = 0; number < THREADS; number++)
        pthread_create(&threads[number], NULL, work, (void *)number);
    for (int number = 0; number < THREADS; number++) sem_wait(&shared->semaphore);
    for (int number = 0; number < THREADS; number++) pthread_join(threads[number], NULL);
    assert(shared->turn == THREADS * ROUNDS && shared->spun == THREADS * ROUNDS);
    return 0;
}
