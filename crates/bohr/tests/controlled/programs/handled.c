/* A handler of signals interrupts what is recorded. Counts the calls itself. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile int handled_calls, collatz_calls;

static void handled(int number) {
    (void)number;
    handled_calls++;
    for (volatile int at = 0; at < 3; at++) {
    }
}

__attribute__((noinline)) static unsigned collatz(unsigned number) {
    collatz_calls++;
    unsigned steps = 0;
    while (number != 1) {
        number = number % 2 == 0 ? number / 2 : 3 * number + 1;
        steps++;
    }
    return steps;
}

int main(void) {
    struct itimerval often = {.it_interval = {0, 1000}, .it_value = {0, 1000}};
    signal(SIGALRM, handled);
    setitimer(ITIMER_REAL, &often, 0);
    for (unsigned number = 1; number < 3000000 && handled_calls < 20; number++) {
        collatz(number);
    }
    struct itimerval never = {0};
    setitimer(ITIMER_REAL, &never, 0);
    printf("%d %d\n", collatz_calls, handled_calls);
    return 0;
}
