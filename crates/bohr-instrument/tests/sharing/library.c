// flags: -O1 -g -fno-inline -fPIC -pthread
// A shared library: whoever loads it calls its functions, in any thread.
#include <stdlib.h>

static int total;
static int *kept;
static void (*told)(int *);

static int own(int *place) { return *place + 1; } //~

void add(int amount) { total += amount; } //~
int value(const int *where) { return *where; } //~

// Another object may have a function of this name, which is called then.
void fill(int *place) { *place = 1; } //~

int filled(void) {
    int mine = 0; //~
    fill(&mine);
    return mine; //~
}

void tell(void (*one)(int *)) { told = one; } //~

int telling(void) {
    int mine = 2; //~
    told(&mine); //~
    return mine; //~
}

int alone(int count) {
    int mine = count; //~
    return own(&mine);
}

int *make(void) {
    int *made = malloc(sizeof *made);
    *made = 3; //~
    kept = made; //~
    return made;
}

static void hidden(int *place) { *place = 4; } //~
extern void named(int *place) __attribute__((alias("hidden")));
