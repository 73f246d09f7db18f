/* Leaves a child behind, and that a child of its own; prints the number of the first. */
#include <pthread.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

static void *nothing(void *argument) {
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, nothing, 0);
    pthread_join(thread, 0);
    pid_t child = fork();
    if (child == 0) {
        fork();
        for (;;) {
            pause();
        }
    }
    printf("%d\n", (int)child);
    return 0;
}
