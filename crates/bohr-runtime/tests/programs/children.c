// Waits for processes that a thread of this program lets go on.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];

static void *let_go(void *unused) {
    sched_yield();
    assert(write(ends[1], "x", 1) == 1 && close(ends[1]) == 0);
    return unused;
}

static pid_t child(pthread_t *thread) {
    assert(pipe(ends) == 0);
    pid_t process = fork();
    if (process == 0) {
        char text;
        close(ends[1]);
        _exit(read(ends[0], &text, 1) == 1 ? 3 : 4);
    }
    assert(close(ends[0]) == 0);
    assert(pthread_create(thread, NULL, let_go, NULL) == 0);
    return process;
}

int main(void) {
    pthread_t thread;
    siginfo_t news;
    int status;
    pid_t process = child(&thread);
    assert(waitid(P_PID, process, &news, WEXITED) == 0 && news.si_status == 3);
    pthread_join(thread, NULL);
    process = child(&thread);
    assert(wait3(&status, 0, NULL) == process && WEXITSTATUS(status) == 3);
    pthread_join(thread, NULL);
    FILE *stream = popen("cat > /dev/null", "w");
    assert(stream && fputs("text", stream) >= 0 && pclose(stream) == 0);
    return 0;
}
