// Has a process use its memory on a stack of its own, and waits for it, as those do
// that start other programs without copying themselves. What it does is not this
// program's, its end is not this program's end, and what it has written is there.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 2, FLAGS = CLONE_VM | CLONE_VFORK };

static _Alignas(16) char stack[256 << 10];
static volatile int error, visits;
static atomic_int turns;

static void *work(void *unused) {
    for (int turn = 0; turn < 3; turn++) {
        sched_yield();
        turns++;
    }
    return unused;
}

static int become(void *path) {
    char *arguments[] = {path, "-c", "exit 5", 0};
    visits++;
    sched_yield();
    execv(path, arguments);
    error = errno;
    _exit(3);
}

static long described(void) {
    struct {
        unsigned long flags, descriptor, child, parent, signal, stack, size, storage;
    } wish = {.flags = FLAGS, .signal = SIGCHLD, .stack = (unsigned long)stack};
    wish.size = sizeof stack;
    register long answer __asm__("rax") = SYS_clone3;
    __asm__ volatile("syscall\n"
                     "test %%rax, %%rax\n"
                     "jnz 1f\n"
                     "lea %2, %%rdi\n"
                     "call *%3\n"
                     "1:"
                     : "+a"(answer)
                     : "D"(&wish), "m"(*"/bin/sh"), "r"(become), "S"(sizeof wish)
                     : "rcx", "r11", "memory");
    return answer;
}

static void expect(long process, int code) {
    int status;
    assert(process > 0);
    assert(waitpid(process, &status, 0) == process && WEXITSTATUS(status) == code);
}

int main(void) {
    pthread_t threads[THREADS];
    for (int at = 0; at < THREADS; at++) pthread_create(&threads[at], 0, work, 0);
    char *end = stack + sizeof stack;
    expect(clone(become, end, FLAGS | SIGCHLD, "/bin/sh"), 5);
    assert(visits == 1 && error == 0);
    expect(clone(become, end, FLAGS | SIGCHLD, "/nowhere/at all"), 3);
    assert(visits == 2 && error == ENOENT);
    expect(described(), 5);
    assert(visits == 3);
    for (int at = 0; at < THREADS; at++) pthread_join(threads[at], 0);
    assert(turns == 3 * THREADS);
    return 0;
}
