// flags: -O1 -g -fno-inline -fPIC -pthread
// A shared library: whoever loads it calls its functions, in any thread.
#include <stdlib.h>

static int total;
static int *kept;
static void (*told)(int *);

static int own(int *place) { return *place + 1; } //~ Stack

void add(int amount) { total += amount; } //~ shared
int value(const int *where) { return *where; } //~ shared

// Another object may have a function of this name, which is called then.
void fill(int *place) { *place = 1; } //~ shared

int filled(void) {
    int mine = 0; //~ shared
    fill(&mine);
    return mine; //~ shared
}

void tell(void (*one)(int *)) { told = one; } //~ shared

int telling(void) {
    int mine = 2; //~ shared
    told(&mine); //~ shared
    return mine; //~ shared
}

int alone(int count) {
    int mine = count; //~ Stack
    return own(&mine);
}

int *make(void) {
    int *made = malloc(sizeof *made);
    *made = 3; //~ shared
    kept = made; //~ shared
    return made;
}

static void hidden(int *place) { *place = 4; } //~ shared
extern void named(int *place) __attribute__((alias("hidden")));
