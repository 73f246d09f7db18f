// Timers of every kind, in virtual time: a day takes no time.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms;
static sem_t expired;
static pthread_t main_thread;

static void ring(int signal) {
    (void)signal;
    alarms++;
}

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static void single_alarm(void) {
    long begin = now();
    assert(alarm(1000) == 0);
    assert(alarm(86400) == 1000);
    assert(pause() == -1 && errno == EINTR && alarms == 1);
    assert(now() - begin >= 86400 && now() - begin < 86500);
    // The alarm ends a longer sleep, and not a shorter one.
    alarm(10);
    unsigned left = sleep(30);
    assert(left >= 19 && left <= 20 && alarms == 2);
    alarm(10);
    assert(sleep(5) == 0 && alarms == 2);
    assert(alarm(0) > 0);
    assert(sleep(100) == 0 && alarms == 2);
}

static void interval(void) {
    struct itimerval setting = {{0, 250000}, {1, 0}}, old;
    alarms = 0;
    assert(setitimer(ITIMER_REAL, &setting, NULL) == 0);
    while (alarms < 4) pause();
    assert(getitimer(ITIMER_REAL, &old) == 0 && old.it_interval.tv_usec == 250000);
    struct itimerval none = {0};
    assert(setitimer(ITIMER_REAL, &none, &old) == 0 && old.it_value.tv_usec > 0);
    assert(alarms == 4);
}

// Somebody who only looks at a flag sees the alarm, too.
static void spinning(void) {
    alarms = 0;
    alarm(1);
    while (!alarms) sched_yield();
}

static void on_expiry(union sigval value) {
    assert(value.sival_int == 7);
    assert(!pthread_equal(pthread_self(), main_thread));
    sem_post(&expired);
}

static volatile int told;

static void on_signal(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    assert(info->si_code == SI_TIMER);
    told += info->si_value.sival_int;
}

static void posix_timers(void) {
    timer_t with_thread, with_signal;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_expiry};
    event.sigev_value.sival_int = 7;
    assert(timer_create(CLOCK_MONOTONIC, &event, &with_thread) == 0);
    struct itimerspec setting = {.it_value = {.tv_sec = 5}, .it_interval = {.tv_sec = 2}}, old;
    assert(timer_settime(with_thread, 0, &setting, NULL) == 0);
    assert(timer_gettime(with_thread, &old) == 0 && old.it_value.tv_sec <= 5);
    for (int times = 0; times < 3; times++) sem_wait(&expired);
    assert(timer_delete(with_thread) == 0);
    assert(timer_delete(with_thread) == -1 && errno == EINVAL);

    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigaction(SIGRTMIN + 1, &action, NULL);
    struct sigevent signal = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1};
    signal.sigev_value.sival_int = 3;
    assert(timer_create(CLOCK_REALTIME, &signal, &with_signal) == 0);
    struct itimerspec absolute = {0};
    clock_gettime(CLOCK_REALTIME, &absolute.it_value);
    absolute.it_value.tv_sec += 60;
    assert(timer_settime(with_signal, TIMER_ABSTIME, &absolute, NULL) == 0);
    while (told == 0) pause();
    assert(told == 3 && timer_getoverrun(with_signal) == 0);
    // One signal stands for all expiries until it is taken.
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGRTMIN + 1);
    pthread_sigmask(SIG_BLOCK, &held, NULL);
    struct itimerspec often = {.it_value = {.tv_sec = 1}, .it_interval = {.tv_sec = 1}};
    assert(timer_settime(with_signal, 0, &often, NULL) == 0);
    usleep(5500000);
    pthread_sigmask(SIG_UNBLOCK, &held, NULL);
    assert(told == 6 && timer_getoverrun(with_signal) == 4);
    assert(timer_delete(with_signal) == 0);
}

static void *reads(void *file) {
    uint64_t times;
    assert(read((int)(intptr_t)file, &times, sizeof times) == sizeof times && times == 1);
    return NULL;
}

static void descriptors(void) {
    int file = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec setting = {.it_value = {.tv_sec = 3600}}, old;
    assert(timerfd_settime(file, 0, &setting, NULL) == 0);
    pthread_t thread;
    pthread_create(&thread, NULL, reads, (void *)(intptr_t)file);
    pthread_join(thread, NULL);
    setting.it_interval.tv_sec = 1;
    assert(timerfd_settime(file, 0, &setting, &old) == 0 && old.it_value.tv_sec == 0);
    struct pollfd entry = {.fd = file, .events = POLLIN};
    assert(poll(&entry, 1, 1000) == 0);
    assert(poll(&entry, 1, -1) == 1);
    assert(sleep(10) == 0);
    uint64_t times;
    assert(read(file, &times, sizeof times) == sizeof times && times >= 10 && times <= 12);
    assert(timerfd_gettime(file, &old) == 0 && old.it_interval.tv_sec == 1);
    close(file);
}

// As a program does that works at every tick of a clock.
static void *ticks(void *file) {
    uint64_t times, all = 0;
    while (all < 3000) {
        assert(read((int)(intptr_t)file, &times, sizeof times) == sizeof times);
        all += times;
    }
    return NULL;
}

static void many_ticks(void) {
    int file = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec setting = {.it_value = {.tv_sec = 1}, .it_interval = {.tv_sec = 1}};
    assert(timerfd_settime(file, 0, &setting, NULL) == 0);
    pthread_t thread;
    pthread_create(&thread, NULL, ticks, (void *)(intptr_t)file);
    pthread_join(thread, NULL);
    close(file);
}

int main(void) {
    main_thread = pthread_self();
    signal(SIGALRM, ring);
    sem_init(&expired, 0, 0);
    single_alarm();
    interval();
    spinning();
    posix_timers();
    descriptors();
    many_ticks();
    return 0;
}
