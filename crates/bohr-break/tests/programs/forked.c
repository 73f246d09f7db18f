// Children of a program whose threads are at a breakpoint all the time: nobody else is in
// them, and what the others were at is not left locked.
#include "bohr_break.h"
#include <assert.h>
#include <sys/wait.h>

static int object, stop;

static void *visit(void *side) {
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
        (void)BOHR_BREAK_REACH("forked", (unsigned)(size_t)side, &object, .pause = 1);
    return NULL;
}

static void *partner(void *unused) {
    (void)BOHR_BREAK_REACH("forked", 0, &object, .pause = 60000);
    return unused;
}

static void *statement(void *unused) {
    BOHR_BREAK_SECOND("statement", &object, .pause = 60000) { assert(BOHR_BREAK_HIT); }
    return unused;
}

// The parent's threads are not there, and threads of its own are.
static int child(void) {
    pthread_t thread;
    if (BOHR_BREAK_REACH("forked", 1, &object, .pause = 1))
        return 1;
    if (pthread_create(&thread, NULL, partner, NULL) != 0)
        return 2;
    int hit = BOHR_BREAK_REACH("forked", 1, &object, .pause = 60000);
    return pthread_join(thread, NULL) == 0 && hit ? 0 : 3;
}

static int status_of(pid_t process) {
    int status = -1;
    assert(waitpid(process, &status, 0) == process);
    return status;
}

int main(void) {
    pthread_t threads[3], other;
    bohr_break_arm();
    for (size_t number = 0; number < 3; number++)
        assert(pthread_create(&threads[number], NULL, visit, (void *)(number % 2)) == 0);
    for (int round = 0; round < 20; round++) {
        pid_t process = fork();
        if (process == 0)
            _exit(child());
        assert(status_of(process) == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    for (int number = 0; number < 3; number++)
        assert(pthread_join(threads[number], NULL) == 0);
    // In the middle of a statement: the child ends it, too.
    assert(pthread_create(&other, NULL, statement, NULL) == 0);
    pid_t process = -1;
    BOHR_BREAK_FIRST("statement", &object, .pause = 60000) { process = fork(); }
    if (process == 0)
        _exit(BOHR_BREAK_REACH("statement", 1, &object, .pause = 1));
    assert(status_of(process) == 0);
    assert(pthread_join(other, NULL) == 0);
    return 0;
}
