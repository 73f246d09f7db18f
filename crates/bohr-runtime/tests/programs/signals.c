// Signals between threads: handlers, masks, sigwait.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled, blocked;
static pthread_t handler_thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t ready;
static int stop;

static void handle(int signal) {
    assert(signal == SIGUSR1);
    assert(pthread_equal(pthread_self(), handler_thread));
    handled++;
}

static void *waits_in_condition(void *unused) {
    handler_thread = pthread_self();
    sem_post(&ready);
    pthread_mutex_lock(&lock);
    while (!stop)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *waits_for_signal(void *set) {
    int signal;
    assert(sigwait(set, &signal) == 0 && signal == SIGTERM);
    return 0;
}

static sem_t sent;

static void *waits_until_sent(void *unused) {
    sem_wait(&sent);
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&ready, 0, 0);
    sem_init(&sent, 0, 0);
    struct sigaction action = {.sa_handler = handle};
    assert(sigaction(SIGUSR1, &action, 0) == 0);
    pthread_create(&thread, 0, waits_in_condition, 0);
    sem_wait(&ready);
    assert(pthread_kill(thread, SIGUSR1) == 0);
    while (!handled)
        usleep(10);
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    assert(handled == 1);

    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    assert(pthread_sigmask(SIG_BLOCK, &set, &old) == 0 && !sigismember(&old, SIGTERM));
    pthread_create(&thread, 0, waits_for_signal, &set);
    assert(kill(getpid(), SIGTERM) == 0);
    pthread_join(thread, 0);
    struct timespec soon = {.tv_sec = 5};
    assert(sigtimedwait(&set, 0, &soon) == -1 && errno == EAGAIN);

    handler_thread = pthread_self();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    raise(SIGUSR1);
    assert(handled == 1);
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    assert(handled == 2);

    // Whether the thread has begun or not, it handles what it is sent.
    pthread_create(&thread, 0, waits_until_sent, 0);
    handler_thread = thread;
    assert(pthread_kill(thread, SIGUSR1) == 0);
    sem_post(&sent);
    pthread_join(thread, 0);
    assert(handled == 3);

    signal(SIGUSR1, SIG_IGN);
    raise(SIGUSR1);
    assert(handled == 3 && blocked == 0);
    return 0;
}
