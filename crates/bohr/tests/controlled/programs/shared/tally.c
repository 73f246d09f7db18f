// A library with a counter that nothing guards.
#include "tally.h"

static int total;

static void put(int value) {
    total = value; // marker: puts
}

void tally_add(int amount) {
    int seen = total; // marker: looks
    put(seen + amount);
}

int tally_total(void) {
    return total;
}
