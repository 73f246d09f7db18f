// Meets its library; is in two scopes at once.
#include "bohr_break.h"
#include <assert.h>

void *in_library(void *object);

int main(void) {
    pthread_t thread;
    int object;
    void *met;
    bohr_break_arm();
    BOHR_BREAK_SCOPE("outer");
    BOHR_BREAK_SCOPE("inner");
    assert(pthread_create(&thread, NULL, in_library, &object) == 0);
    assert(BOHR_BREAK_REACH("apart", 0, &object, .within = "outer", .pause = 60000));
    assert(pthread_join(thread, &met) == 0 && met == &object);
    return 0;
}
