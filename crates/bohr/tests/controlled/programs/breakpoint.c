// An update that is lost whenever its breakpoint is hit. Ends with the number of
// hits, of which there are two in every schedule. With -DASLEEP only the environment
// arms the breakpoint.
#define BOHR_BREAK 1
#include "bohr_break.h"

static int balance, hits;

static void *slow(void *unused) {
    for (int round = 0; round < 2; round++) {
        int seen = balance;
        BOHR_BREAK_SECOND("lost update", &balance, .pause = 3600000) {
            hits += BOHR_BREAK_HIT;
            balance = seen + 1;
        }
    }
    return unused;
}

static void *quick(void *unused) {
    for (int round = 0; round < 2; round++)
        BOHR_BREAK_FIRST("lost update", &balance, .pause = 3600000) { balance++; }
    return unused;
}

int main(void) {
    pthread_t one, other;
#ifndef ASLEEP
    bohr_break_arm();
#endif
    pthread_create(&one, NULL, slow, NULL);
    pthread_create(&other, NULL, quick, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return hits;
}
