/* Functions that are inlined into each other have variables of one name: fails with or
 * without an argument at two places, of which one is in the inlined function. With an
 * argument a lock is held, to which there is a pointer. */
#include <pthread.h>
#include <stdlib.h>

struct line { int amount; };
struct order { int number; struct line *line; };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static inline __attribute__((always_inline)) void check(struct line *item, int fails) {
    if (fails) abort();
    item->amount++;
}

__attribute__((noinline)) static int handle(struct order *item, pthread_mutex_t *lock, int fails) {
    if (fails) pthread_mutex_lock(lock);
    check(item->line, fails);
    abort();
}

int main(int count, char **words) {
    struct line line = {7};
    struct order order = {count, &line};
    (void)words;
    return handle(&order, &gate, count > 1);
}
