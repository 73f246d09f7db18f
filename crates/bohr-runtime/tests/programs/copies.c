// Copies itself by every call that does, while threads of its own are on their way:
// those are in the parent only, and nothing that the copy does is theirs.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 200, THREADS = 2 };

static int *ends; // shared by all copies
static const char *way;
static _Alignas(16) char stack[256 << 10];

static void *work(void *unused) {
    for (int turn = 0; turn < 3; turn++)
        sched_yield();
    __atomic_add_fetch(ends, 1, __ATOMIC_SEQ_CST);
    return unused;
}

// Were it under control, this would be the threads' turn more than once.
static int idle(void *unused) {
    for (int turn = 0; turn < TURNS; turn++)
        sched_yield();
    return unused ? 1 : 7;
}

static void handler(void) {
    if (strcmp(way, "fork") == 0)
        idle(0);
}

static long copy(void) {
    struct {
        unsigned long flags, descriptor, child, parent, signal, stack, size, storage;
    } wish = {.signal = SIGCHLD};
    if (strcmp(way, "fork") == 0)
        return fork();
    if (strcmp(way, "_Fork") == 0)
        return _Fork();
    if (strcmp(way, "clone") == 0)
        return clone(idle, stack + sizeof stack, SIGCHLD, 0);
    if (strcmp(way, "by number") == 0)
        return syscall(SYS_fork);
    if (strcmp(way, "described") == 0)
        return syscall(SYS_clone3, &wish, sizeof wish);
    long answer = SYS_vfork;
    __asm__ volatile("syscall" : "+a"(answer) : : "rcx", "r11", "memory");
    return answer;
}

int main(int count, char **arguments) {
    way = count > 1 ? arguments[1] : "fork";
    ends = mmap(0, sizeof *ends, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(pthread_atfork(0, 0, handler) == 0);
    pthread_t threads[THREADS];
    for (int at = 0; at < THREADS; at++)
        pthread_create(&threads[at], 0, work, 0);
    long process = copy();
    if (process == 0)
        _exit(idle(0));
    int status;
    assert(waitpid(process, &status, 0) == process && WEXITSTATUS(status) == 7);
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], 0);
    assert(*ends == THREADS);
    return 0;
}
