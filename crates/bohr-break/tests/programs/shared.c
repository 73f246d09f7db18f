// The C side of a breakpoint whose other side is in C++.
#include "bohr_break.h"

void note_second(void);
void pass_second(const void *object);

void pass_second(const void *object) {
    BOHR_BREAK_SECOND("shared", object, .pause = 60000) { note_second(); }
}
