// Tells how often each of two breakpoints was visited while it was armed.
#include "bohr_break.h"

static unsigned long visits(const char *name) {
    for (struct bohr_break_point *point = bohr_break_program.points; point != NULL; point = point->next)
        if (strcmp(point->name, name) == 0)
            return point->visits;
    return 0;
}

int main(void) {
    (void)BOHR_BREAK_REACH("one", 0, NULL);
    (void)BOHR_BREAK_REACH("two", 0, NULL);
    fprintf(stderr, "one %lu, two %lu\n", visits("one"), visits("two"));
    return 0;
}
