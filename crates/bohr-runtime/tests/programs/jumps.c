// Leaving a handler by a jump, and names of the C library that change masks and
// handlers behind its other names.
#define _XOPEN_SOURCE 700
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

// Old names are what this is about.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static __thread sigjmp_buf back;
static __thread int handled;
static ucontext_t here, there;
static char stack[1 << 16];
static int visits;

static void jump(int signal) {
    (void)signal;
    handled++;
    siglongjmp(back, 1);
}

static void *jump_often(void *unused) {
    for (int each = 0; each < 3; each++)
        if (sigsetjmp(back, 1) == 0) {
            raise(SIGUSR1);
            assert(!"a handler that jumps does not return");
        }
    // The jump has brought back the mask in which the signal is welcome.
    assert(handled == 3);
    return unused;
}

static void visit(void) {
    visits++;
    swapcontext(&there, &here);
    visits++;
}

static void old_names(void) {
    struct sigaction action;
    sigset_t pending;
    assert(sighold(SIGUSR2) == 0);
    kill(getpid(), SIGUSR2);
    assert(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR2));
    assert(sigset(SIGUSR2, SIG_IGN) == SIG_HOLD);
    assert(sigaction(SIGUSR2, NULL, &action) == 0 && action.sa_handler == SIG_IGN);
    assert(siginterrupt(SIGUSR1, 1) == 0);
    assert(sigaction(SIGUSR1, NULL, &action) == 0);
    assert(action.sa_handler == jump && !(action.sa_flags & SA_RESTART));
}

int main(void) {
    pthread_t threads[2];
    signal(SIGUSR1, jump);
    for (int each = 0; each < 2; each++) pthread_create(&threads[each], NULL, jump_often, NULL);
    for (int each = 0; each < 2; each++) pthread_join(threads[each], NULL);
    old_names();
    assert(getcontext(&there) == 0);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    there.uc_link = &here;
    makecontext(&there, visit, 0);
    assert(swapcontext(&here, &there) == 0 && visits == 1);
    assert(swapcontext(&here, &there) == 0 && visits == 2);
    return 0;
}
