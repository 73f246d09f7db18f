// What a process can do at best: clone itself, wait, and do it again. The number
// of clones is the argument; half of them are made by a second process.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
    int clones = (count > 1 ? atoi(arguments[1]) : 1000) / 2;
    pid_t partner = fork();
    for (int number = 0; number < clones; number++) {
        long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0)
            _exit(0);
        waitpid((pid_t)child, NULL, 0);
    }
    if (partner == 0)
        _exit(0);
    waitpid(partner, NULL, 0);
    return 0;
}
