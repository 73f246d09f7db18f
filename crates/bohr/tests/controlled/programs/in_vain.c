// Threads lose an update, and beside it do what can be in vain, or has been done: the
// argument says what.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static int count, vain;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static mtx_t standard;
static sem_t semaphore;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int ends[2];
static const char *way;

static int is(const char *name) {
    return strcmp(way, name) == 0;
}

static struct timespec soon(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec++;
    return time;
}

static void work(void) {
    vain++;
}

static void handle(int signal) {
    vain += signal != 0;
}

// Takes what one of them has at a time, or does not get it.
static void attempt(void) {
    struct timespec time = soon();
    char byte = 0;
    if (is("mutex") && pthread_mutex_trylock(&lock) == 0)
        pthread_mutex_unlock(&lock);
    if (is("timed") && pthread_mutex_timedlock(&lock, &time) == 0) {
        sched_yield();
        pthread_mutex_unlock(&lock);
    }
    if (is("read") && pthread_rwlock_tryrdlock(&shared) == 0)
        pthread_rwlock_unlock(&shared);
    if (is("write") && pthread_rwlock_trywrlock(&shared) == 0)
        pthread_rwlock_unlock(&shared);
    if (is("spin") && pthread_spin_trylock(&spin) == 0)
        pthread_spin_unlock(&spin);
    if (is("standard") && mtx_trylock(&standard) == thrd_success)
        mtx_unlock(&standard);
    if (is("semaphore") && sem_trywait(&semaphore) == 0)
        sem_post(&semaphore);
    if (is("once"))
        pthread_once(&once, work);
    if (is("unlock"))
        vain += pthread_mutex_unlock(&checked) == EPERM;
    if (is("again") && pthread_mutex_trylock(&checked) == 0) {
        vain += pthread_mutex_trylock(&checked) == EBUSY;
        pthread_mutex_unlock(&checked);
    }
    if (is("poll")) {
        struct pollfd entry = {ends[0], POLLIN, 0};
        if (poll(&entry, 1, 0) == 1)
            vain += read(ends[0], &byte, 1) == 1;
        else
            vain += write(ends[1], &byte, 1) == 1;
    }
}

static void *add(void *argument) {
    attempt();
    int seen = count;
    attempt();
    count = seen + 1;
    attempt();
    return argument;
}

int main(int words, char **word) {
    pthread_t threads[3];
    way = words > 1 ? word[1] : "mutex";
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    mtx_init(&standard, mtx_plain);
    sem_init(&semaphore, 0, 1);
    signal(SIGUSR1, handle);
    if (pipe(ends) != 0)
        return 2;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 3; i++) {
        if (is("signal"))
            pthread_kill(threads[i], SIGUSR1);
        while (is("join") && pthread_tryjoin_np(threads[i], NULL) == EBUSY)
            vain++;
        if (!is("join"))
            pthread_join(threads[i], NULL);
    }
    assert(count == 3);
    return 0;
}
