// A thread brings something that is freed while it is held up. With AddressSanitizer
// its condition is not even evaluated, which would read freed memory.
#include "bohr_break.h"
#include <assert.h>
#include <unistd.h>

static int *brought;

static int same_number(const void *first, const void *second) {
    return *(const int *)first == *(const int *)second;
}

// Waits until it is cancelled.
static void *first(void *unused) {
    (void)BOHR_BREAK_REACH("freed", 0, brought, .condition = same_number, .pause = 60000);
    return unused;
}

static unsigned long postponements(void) {
    pthread_mutex_lock(&bohr_break_program.lock);
    unsigned long found = bohr_break_named("freed")->postponements;
    pthread_mutex_unlock(&bohr_break_program.lock);
    return found;
}

int main(void) {
    pthread_t thread;
    int own = 7;
    bohr_break_arm();
    brought = malloc(sizeof *brought);
    *brought = 7;
    assert(pthread_create(&thread, NULL, first, NULL) == 0);
    while (postponements() == 0)
        usleep(100);
    free(brought);
    assert(!BOHR_BREAK_REACH("freed", 1, &own, .condition = same_number, .pause = 5));
    pthread_cancel(thread);
    assert(pthread_join(thread, NULL) == 0);
    return 0;
}
