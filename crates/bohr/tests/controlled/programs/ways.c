// Goes every kind of way that a path log has to tell, and counts how often each
// function is entered: the counts are printed at the end.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int called[5];
#define COUNT(which) __atomic_fetch_add(&called[which], 1, __ATOMIC_RELAXED)
#define APART __attribute__((noinline))

APART int compare(const void *left, const void *right) {
    COUNT(0);
    int a = *(const int *)left, b = *(const int *)right;
    return a < b ? -1 : a > b;
}

APART int collatz(unsigned n) {
    COUNT(1);
    int steps = 0;
    while (n != 1) {
        n = n % 2 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}

APART int fibonacci(int n) {
    COUNT(2);
    if (n < 2)
        return n;
    // Something behind every call, or the optimiser makes a loop of them.
    volatile int one = fibonacci(n - 1), two = fibonacci(n - 2);
    return one + two;
}

static jmp_buf back;

APART void deep(int depth) {
    COUNT(3);
    if (depth == 0)
        longjmp(back, 1);
    deep(depth - 1);
    puts("never");
}

APART int chosen(int which) {
    COUNT(4);
    switch (which) {
    case 0: return 7;
    case 1: return collatz(9);
    case 2: case 5: return fibonacci(6);
    case 3: return -1;
    default: return which;
    }
}

static int (*volatile through)(int) = chosen;
static size_t (*volatile outside)(const char *) = strlen;

static void *worker(void *argument) {
    int sum = 0;
    for (int i = 0; i < 12; i++)
        sum += through(i % 7) + (int)outside("abc");
    return (void *)(long)(sum + (int)(long)argument);
}

int main(int argc, char **argv) {
    int numbers[50];
    for (int i = 0; i < 50; i++)
        numbers[i] = i * 37 % 50;
    qsort(numbers, 50, sizeof *numbers, compare);
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, worker, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    if (setjmp(back) == 0)
        deep(5);
    if (fork() == 0) {
        fibonacci(9); // in another process: not of this run
        _exit(0);
    }
    for (int n = 1; n < 3000; n++)
        collatz((unsigned)n);
    printf("%d %d %d %d %d\n", called[0], called[1], called[2], called[3], called[4]);
    fflush(stdout);
    switch (argc > 1 ? argv[1][0] : 'r') {
    case 'a': abort();
    case 'c': *(volatile int *)8 = 1;
    case 'k': kill(getpid(), 9);
    case '_': _exit(0);
    default: return 0;
    }
}
