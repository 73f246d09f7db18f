// Two threads that count with a library.
#include "tally.h"
#include <assert.h>
#include <pthread.h>

#ifdef CAREFUL
void careful_add(int amount);
#else
static void careful_add(int amount) { (void)amount; }
#endif

static void *count(void *unused) {
    for (int round = 0; round < 2; round++) {
        careful_add(1);
        tally_add(1);
    }
    return unused;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, count, 0);
    pthread_create(&other, 0, count, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    assert(tally_total() == 4);
    return 0;
}
