// A thread and somebody who is not under control, a child or a thread made by clone,
// wait for each other at what they share: each once in either direction.
#define _GNU_SOURCE
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    sem_t there, back;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_barrier_t barrier;
    int turn;
    atomic_int word;
} *shared;

static const char *way;

// A system call past the C library: who is made by clone has no thread of it.
static long directly(long number, long first, long second, long third) {
    register long fourth __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(first), "S"(second), "d"(third), "r"(fourth)
                     : "rcx", "r11", "memory");
    return number;
}

static int is(const char *name) { return strcmp(way, name) == 0; }

static void take_turn(int mine) {
    pthread_mutex_lock(&shared->mutex);
    while (shared->turn != mine) pthread_cond_wait(&shared->condition, &shared->mutex);
    shared->turn++;
    if (mine == 1) pthread_cond_signal(&shared->condition);
    else pthread_cond_broadcast(&shared->condition);
    pthread_mutex_unlock(&shared->mutex);
}

static void *here(void *unused) {
    // The other one waits by then, mostly.
    usleep(1000);
    if (is("semaphore")) {
        sem_post(&shared->there);
        sem_wait(&shared->back);
    } else if (is("condition")) {
        take_turn(0);
        take_turn(2);
    } else if (is("barrier")) {
        for (int round = 0; round < 3; round++) pthread_barrier_wait(&shared->barrier);
    } else {
        shared->word = 1;
        syscall(SYS_futex, &shared->word, FUTEX_WAKE, 1, 0, 0, 0);
        while (shared->word < 2) syscall(SYS_futex, &shared->word, FUTEX_WAIT, 1, 0, 0, 0);
    }
    return unused;
}

static int there(void *unused) {
    if (is("semaphore")) {
        sem_wait(&shared->there);
        usleep(20000);
        sem_post(&shared->back);
    } else if (is("condition")) {
        take_turn(1);
        take_turn(3);
    } else if (is("barrier")) {
        for (int round = 0; round < 3; round++) {
            usleep(5000);
            pthread_barrier_wait(&shared->barrier);
        }
    } else {
        long word = (long)&shared->word;
        while (shared->word < 1) directly(SYS_futex, word, FUTEX_WAIT, 0);
        struct timespec span = {0, 20000000};
        directly(SYS_nanosleep, (long)&span, 0, 0);
        shared->word = 2;
        directly(SYS_futex, word, FUTEX_WAKE, 1);
    }
    return unused != 0;
}

static int thread_by_clone(void *unused) {
    there(unused);
    directly(SYS_exit, 0, 0, 0);
    return 0;
}

static char stack[64 << 10] __attribute__((aligned(16)));

static void prepare(void) {
    int access = PROT_READ | PROT_WRITE;
    shared = mmap(0, sizeof *shared, access, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(shared != MAP_FAILED);
    sem_init(&shared->there, 1, 0);
    sem_init(&shared->back, 1, 0);
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutex, &mutex);
    pthread_condattr_t condition;
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared->condition, &condition);
    pthread_barrierattr_t barrier;
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &barrier, 2);
}

int main(int count, char **arguments) {
    way = arguments[count - 1];
    prepare();
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    pid_t child = 0;
    if (is("clone")) {
        assert(clone(thread_by_clone, stack + sizeof stack, flags, 0) > 0);
    } else if ((child = fork()) == 0) {
        _exit(there(0));
    }
    pthread_t thread;
    assert(pthread_create(&thread, 0, here, 0) == 0);
    pthread_join(thread, 0);
    int status = 0;
    if (child) assert(waitpid(child, &status, 0) == child);
    return status != 0;
}
