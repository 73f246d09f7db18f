// Prints nanoseconds per visit to a breakpoint that is asleep.
#define BOHR_BREAK 1
#include "bohr_break.h"

enum { VISITS = 100000000 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(void) {
    volatile int work = 0;
    bohr_break_disarm();
    double begin = now();
    for (int visit = 0; visit < VISITS; visit++)
        work = visit;
    double middle = now();
    for (int visit = 0; visit < VISITS; visit++)
        BOHR_BREAK_FIRST("asleep", (void *)&work) { work = visit; }
    double end = now();
    printf("%.2f\n", (end - middle - (middle - begin)) / VISITS);
    return 0;
}
