// Handlers of signals end calls that wait, or let them go on.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static volatile int begun, done, value, code;
static sem_t semaphore;
static int ends[2];
static int word;

static void handle(int signal) {
    assert(signal == SIGUSR1);
    handled++;
}

static void install(int flags) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = flags};
    assert(sigaction(SIGUSR1, &action, NULL) == 0);
}

// Sends signals to the main thread until it has come back from its call.
static void *disturb(void *target) {
    while (!done) {
        if (begun) pthread_kill(*(pthread_t *)target, SIGUSR1);
        usleep(100);
    }
    return NULL;
}

// The same a few times: a wait that goes on is not disturbed for ever.
static void *disturb_a_little(void *target) {
    for (int times = 0; times < 3; times++) {
        pthread_kill(*(pthread_t *)target, SIGUSR1);
        usleep(100);
    }
    return NULL;
}

// Ends a call that goes on after a handler has run.
static void *relieve(void *way) {
    while (!handled) usleep(100);
    if (way) assert(write(ends[1], "x", 1) == 1);
    else assert(sem_post(&semaphore) == 0);
    return NULL;
}

static int wait_in(int way) {
    char byte;
    struct timespec hour = {.tv_sec = 3600}, left;
    struct pollfd entry = {.fd = ends[0], .events = POLLIN};
    struct epoll_event event = {.events = EPOLLIN};
    sigset_t other;
    fd_set set;
    switch (way) {
    case 0: return (int)read(ends[0], &byte, 1);
    case 1: return sem_wait(&semaphore);
    case 2: return poll(&entry, 1, -1);
    case 3:
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        return select(ends[0] + 1, &set, NULL, NULL, NULL);
    case 4: {
        int epoll = epoll_create1(0);
        epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
        int result = epoll_wait(epoll, &event, 1, -1);
        int error = errno;
        close(epoll);
        errno = error;
        return result;
    }
    case 5: {
        int result = nanosleep(&hour, &left);
        if (result == -1) assert(left.tv_sec <= 3600 && (left.tv_sec > 0 || left.tv_nsec > 0));
        // A sleep may be over at any moment.
        return result == 0 ? (errno = EINTR, -1) : result;
    }
    case 6: return (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
    case 7:
        sigemptyset(&other);
        sigaddset(&other, SIGUSR2);
        return sigwaitinfo(&other, NULL);
    case 8: return pause();
    default: {
        int pipes[2];
        assert(pipe(pipes) == 0);
        char *much = calloc(1, 1 << 20);
        ssize_t written = write(pipes[1], much, 1 << 20);
        int error = errno;
        free(much);
        close(pipes[0]);
        close(pipes[1]);
        errno = error;
        assert(written < 1 << 20);
        return written > 0 ? (errno = EINTR, -1) : -1;
    }
    }
}

static void is_interrupted(int way, int flags) {
    pthread_t self = pthread_self(), thread;
    install(flags);
    handled = begun = done = 0;
    pthread_create(&thread, NULL, disturb, &self);
    begun = 1;
    errno = 0;
    int result = wait_in(way);
    assert(result == -1 && errno == EINTR);
    done = 1;
    pthread_join(thread, NULL);
    assert(handled > 0 || way == 5);
}

static void goes_on(int way) {
    pthread_t self = pthread_self(), disturber, reliever;
    install(SA_RESTART);
    handled = begun = done = 0;
    pthread_create(&disturber, NULL, disturb_a_little, &self);
    pthread_create(&reliever, NULL, relieve, way == 0 ? &self : NULL);
    assert(wait_in(way) == (way == 0));
    pthread_join(disturber, NULL);
    pthread_join(reliever, NULL);
}

static void note(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    value = value * 10 + info->si_value.sival_int;
    code = info->si_code;
}

// Real-time signals wait as often as they were sent, in order, with their values.
static void queue(void) {
    sigset_t set, old;
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
    sigaction(SIGRTMIN, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    for (int number = 1; number <= 3; number++) {
        assert(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = number}) == 0);
        assert(sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = number}) == 0);
    }
    assert(value == 0);
    siginfo_t info;
    assert(sigwaitinfo(&set, &info) == SIGUSR2 && info.si_value.sival_int == 1);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    assert(value == 123 && code == SI_QUEUE);
}

static void *sends(void *unused) {
    kill(getpid(), SIGUSR2);
    return unused;
}

// A mask for as long as a call takes; a descriptor that signals are read from.
static void masks(void) {
    sigset_t set, old, none;
    sigemptyset(&set);
    sigemptyset(&none);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    install(0);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    handled = 0;
    raise(SIGUSR1);
    assert(handled == 0);
    assert(sigsuspend(&none) == -1 && errno == EINTR && handled == 1);
    raise(SIGUSR1);
    assert(handled == 1);
    struct pollfd entry = {.fd = ends[0], .events = POLLIN};
    assert(ppoll(&entry, 1, NULL, &none) == -1 && errno == EINTR && handled == 2);

    sigdelset(&set, SIGUSR1);
    int file = signalfd(-1, &set, 0);
    assert(file >= 0);
    pthread_t thread;
    pthread_create(&thread, NULL, sends, NULL);
    struct signalfd_siginfo info;
    entry.fd = file;
    assert(poll(&entry, 1, -1) == 1);
    assert(read(file, &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR2);
    pthread_join(thread, NULL);
    close(file);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

int main(void) {
    assert(pipe(ends) == 0);
    sem_init(&semaphore, 0, 0);
    for (int way = 0; way <= 9; way++) is_interrupted(way, 0);
    // These never go on by themselves.
    for (int way = 2; way <= 5; way++) is_interrupted(way, SA_RESTART);
    goes_on(0);
    goes_on(1);
    queue();
    masks();
    return 0;
}
