// A program with two assertions in one function. The same code either way: which
// one fails is decided by a variable, with -DFAILS_first or -DFAILS_second.
#include <assert.h>

#ifdef FAILS_first
volatile int first = 0, second = 1;
#else
volatile int first = 1, second = 0;
#endif

int main(void) {
    assert(first);
    assert(second);
    return 0;
}
