// A library whose side of a breakpoint meets the other one in the program.
#include "bohr_break.h"

__attribute__((visibility("default"))) void *in_library(void *object) {
    return BOHR_BREAK_REACH("apart", 1, object, .pause = 60000) ? object : NULL;
}
