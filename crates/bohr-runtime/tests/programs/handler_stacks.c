// Handlers on stacks of their own, and what they are told about what they interrupt.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { LARGE = 256 << 10, SMALL = 8 << 10 };

static __thread stack_t mine;
static __thread int handled;
static __thread sigjmp_buf back;

static stack_t current(void) {
    stack_t stack;
    assert(sigaltstack(0, &stack) == 0);
    return stack;
}

static void use_stack(size_t size) {
    mine = (stack_t){.ss_sp = malloc(size), .ss_size = size};
    assert(sigaltstack(&mine, 0) == 0);
    stack_t stack = current();
    assert(stack.ss_sp == mine.ss_sp && stack.ss_size == size && stack.ss_flags == 0);
}

static void use_none(void) {
    stack_t none = {.ss_flags = SS_DISABLE};
    assert(sigaltstack(&none, 0) == 0 && current().ss_flags == SS_DISABLE);
    free(mine.ss_sp);
}

static int is_within(const volatile void *object) {
    uintptr_t address = (uintptr_t)object, start = (uintptr_t)mine.ss_sp;
    return address - start < mine.ss_size;
}

static void on_own(int signal, siginfo_t *info, void *given) {
    ucontext_t *context = given;
    volatile char local = 0;
    sched_yield(); // others have handlers of their own meanwhile
    assert(info->si_signo == signal && local == 0);
    assert(current().ss_flags == SS_ONSTACK);
    assert(mine.ss_size == SMALL || is_within(&local));
    // While it is in use there is no other.
    stack_t other = {.ss_sp = mine.ss_sp, .ss_size = LARGE};
    assert(sigaltstack(&other, 0) == -1 && errno == EPERM);
    assert(context->uc_stack.ss_sp == mine.ss_sp && context->uc_stack.ss_size == mine.ss_size);
    assert(!is_within((void *)context->uc_mcontext.gregs[REG_RSP]));
    assert(context->uc_mcontext.gregs[REG_RIP] && context->uc_mcontext.fpregs);
    handled++;
}

static void here(int signal, siginfo_t *info, void *given) {
    ucontext_t *context = given;
    volatile char local = 0;
    assert(info->si_signo == signal && local == 0 && !is_within(&local));
    assert(current().ss_flags == 0);
    // The mask in the context is the one to go on with.
    assert(!sigismember(&context->uc_sigmask, SIGUSR2));
    sigaddset(&context->uc_sigmask, SIGUSR2);
    handled++;
}

static void jump(int signal) {
    (void)signal;
    sched_yield();
    handled++;
    siglongjmp(back, 1);
}

static void install(int signal, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action = {.sa_flags = flags | SA_SIGINFO};
    action.sa_sigaction = handler;
    assert(sigaction(signal, &action, 0) == 0);
}

static long descend(long levels, volatile char *above) {
    volatile char frame[1000];
    frame[0] = above[0] + 1;
    return levels ? descend(levels - 1, frame) + frame[0] : 0;
}

static void *work(void *size) {
    use_stack((size_t)size);
    handled = 0;
    pthread_kill(pthread_self(), SIGUSR1);
    assert(handled == 1 && current().ss_flags == 0);
    pthread_kill(pthread_self(), SIGALRM);
    sigset_t mask;
    assert(handled == 2);
    assert(pthread_sigmask(SIG_SETMASK, 0, &mask) == 0 && sigismember(&mask, SIGUSR2));
    // A stack that has overflowed leaves room for nobody else.
    volatile int rounds = 0;
    char top[1] = {0};
    if (sigsetjmp(back, 1) == 0 || rounds < 3) {
        rounds++;
        descend(LONG_MAX, top);
    }
    assert(handled == 5 && rounds == 3);
    use_none();
    return 0;
}

static char *page;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void mend(int signal, siginfo_t *info, void *given) {
    (void)signal, (void)given;
    assert(info->si_addr == page + 8);
    volatile double noise = 3.0;
    for (int each = 0; each < 10; each++) noise = noise * 1.5 + each;
    pthread_mutex_lock(&lock);
    handled++;
    pthread_mutex_unlock(&lock);
    assert(mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
}

static void skip(int signal, siginfo_t *info, void *given) {
    (void)signal, (void)info;
    ucontext_t *context = given;
    handled++;
    // mov rax, [rdi]: three bytes
    context->uc_mcontext.gregs[REG_RIP] += 3;
    context->uc_mcontext.gregs[REG_RAX] = 42;
}

// Whoever comes back finds all registers as they were.
static void faults(void) {
    handled = 0;
    page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    install(SIGSEGV, mend, 0);
    register double kept __asm__("xmm9") = 2.5;
    __asm__ volatile("" : "+x"(kept));
    ((volatile char *)page)[8] = 7;
    __asm__ volatile("" : "+x"(kept));
    assert(kept == 2.5 && page[8] == 7 && handled == 1);
    install(SIGSEGV, skip, 0);
    long value;
    __asm__ volatile("mov (%1), %0" : "=a"(value) : "D"(16L) : "memory");
    assert(value == 42 && handled == 2);
}

static int cleaned;

static void clean(void *unused) {
    (void)unused;
    cleaned++;
}

static void leave(int signal) {
    (void)signal;
    pthread_exit((void *)7);
}

static void *leaves_from_handler(void *fault) {
    pthread_cleanup_push(clean, 0);
    use_stack(LARGE);
    if (fault)
        *(volatile int *)16 = 1;
    else
        raise(SIGUSR1);
    pthread_cleanup_pop(0);
    return 0;
}

int main(void) {
    stack_t wrong = {.ss_sp = &wrong, .ss_size = 100};
    assert(sigaltstack(&wrong, 0) == -1 && errno == ENOMEM);
    wrong.ss_flags = 77;
    assert(sigaltstack(&wrong, 0) == -1 && errno == EINVAL);
    assert(current().ss_flags == SS_DISABLE);

    struct sigaction jumping = {.sa_handler = jump, .sa_flags = SA_ONSTACK};
    install(SIGUSR1, on_own, SA_ONSTACK);
    install(SIGALRM, here, 0);
    assert(sigaction(SIGSEGV, &jumping, 0) == 0);
    pthread_t threads[2];
    for (long each = 0; each < 2; each++)
        pthread_create(&threads[each], 0, work, (void *)(long)(each ? SMALL : LARGE));
    for (int each = 0; each < 2; each++) pthread_join(threads[each], 0);
    faults();

    struct sigaction leaving = {.sa_handler = leave, .sa_flags = SA_ONSTACK};
    assert(sigaction(SIGUSR1, &leaving, 0) == 0 && sigaction(SIGSEGV, &leaving, 0) == 0);
    for (long fault = 0; fault < 2; fault++) {
        void *result;
        pthread_create(&threads[0], 0, leaves_from_handler, (void *)fault);
        pthread_join(threads[0], &result);
        assert(result == (void *)7 && cleaned == fault + 1);
    }
    return 0;
}
