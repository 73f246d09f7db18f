/* What a recorder meets beside threads that begin and end: C11's threads, a thread
   that leaves early, one that is cancelled, a child that is forked and one that
   becomes another program. Counts the calls of its functions itself. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static _Atomic int collatz_calls, step_calls;

__attribute__((noinline)) static unsigned collatz(unsigned number) {
    collatz_calls++;
    unsigned steps = 0;
    while (number != 1) {
        number = number % 2 == 0 ? number / 2 : 3 * number + 1;
        steps++;
    }
    return steps;
}

__attribute__((noinline)) static int step(int sum) {
    step_calls++;
    return sum % 2 == 0 ? sum + 1 : sum + 3;
}

static int in_c11(void *argument) {
    for (unsigned number = 1; number < 200; number++) {
        collatz(number + (unsigned)(unsigned long)argument);
    }
    return 7;
}

static void *leaves(void *argument) {
    (void)argument;
    int sum = 0;
    while (sum < 100) {
        sum = step(sum);
    }
    if (sum > 0) {
        pthread_exit((void *)5);
    }
    return 0;
}

static void *waits(void *argument) {
    collatz(27);
    for (;;) {
        pause();
    }
    return argument;
}

int main(void) {
    thrd_t first, second;
    thrd_create(&first, in_c11, (void *)1);
    thrd_create(&second, in_c11, (void *)2);
    pthread_t third, fourth;
    pthread_create(&third, 0, leaves, 0);
    pthread_create(&fourth, 0, waits, 0);
    int result = 0;
    thrd_join(first, &result);
    thrd_join(second, 0);
    void *left = 0;
    pthread_join(third, &left);
    pthread_cancel(fourth);
    void *cancelled = 0;
    pthread_join(fourth, &cancelled);
    pid_t child = fork();
    if (child == 0) {
        for (unsigned number = 1; number < 100; number++) {
            collatz(number);
        }
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (result != 7 || left != (void *)5 || cancelled != PTHREAD_CANCELED || status != 0) {
        return 1;
    }
    printf("%d %d\n", collatz_calls, step_calls);
    return 0;
}
