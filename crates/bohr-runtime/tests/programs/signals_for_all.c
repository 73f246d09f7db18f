// Signals that are sent to the process: main handles them unless it blocks them, and its
// waits end by them; otherwise whoever does not block them may. (In Linux, others take
// one that main has not come to yet, if they begin or change their mask at that moment.)
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static pthread_t first;
static volatile sig_atomic_t ticks, by_main, by_others;
static sem_t end;

static void tick(int signal) {
    assert(signal == SIGALRM);
    if (pthread_equal(pthread_self(), first)) ticks++;
}

static void count(int signal) {
    assert(signal == SIGUSR1);
    if (pthread_equal(pthread_self(), first)) by_main++;
    else by_others++;
}

static void *waits(void *unused) {
    while (sem_wait(&end) != 0) assert(errno == EINTR);
    return unused;
}

// Waits for a signal that it blocks before.
static void *pauses(void *unused) {
    sigset_t none;
    sigemptyset(&none);
    while (by_others == 0) assert(sigsuspend(&none) == -1);
    return unused;
}

static void *sends(void *unused) {
    kill(getpid(), SIGUSR1);
    return unused;
}

// Others block nothing, and yet it is main that is called away.
static void calls_main_away(void) {
    pthread_t threads[3];
    struct itimerval every = {{0, 1000}, {0, 1000}};
    for (int number = 0; number < 2; number++) pthread_create(&threads[number], NULL, waits, NULL);
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    pthread_create(&threads[2], NULL, pauses, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    while (ticks < 3) assert(pause() == -1 && errno == EINTR);
    every = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every, NULL);
    // A pause of another thread is still under way.
    pthread_kill(threads[2], SIGUSR1);
    for (int number = 0; number < 2; number++) sem_post(&end);
    for (int number = 0; number < 3; number++) pthread_join(threads[number], NULL);
    assert(by_main == 0 && by_others == 1);

    pthread_create(&threads[0], NULL, sends, NULL);
    pthread_join(threads[0], NULL);
    while (by_main + by_others < 2) usleep(1);
}

static void *sends_alone(void *unused) {
    int before = by_others;
    kill(getpid(), SIGUSR1);
    assert(by_others > before);
    return unused;
}

// Where main blocks it, it is anybody's; before the call ends, if there is nobody else.
static void calls_others_away(void) {
    sigset_t set;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, waits, NULL);
    by_main = by_others = 0;
    pthread_create(&threads[1], NULL, sends, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_join(threads[1], NULL);
    sem_post(&end);
    pthread_join(threads[0], NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    assert(by_main + by_others == 1);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    pthread_attr_setsigmask_np(&attributes, &none);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&threads[0], &attributes, sends_alone, NULL);
    pthread_join(threads[0], NULL);
}

int main(void) {
    first = pthread_self();
    sem_init(&end, 0, 0);
    struct sigaction action = {.sa_handler = tick};
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = count;
    sigaction(SIGUSR1, &action, NULL);
    calls_main_away();
    calls_others_away();
    return 0;
}
