// Two threads take turns at a lock. Two orders of their turns are wrong, each in
// its own way, and few schedules show either.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

enum { TURNS = 5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int order[2 * TURNS], turns;

static void *take_turns(void *name) {
    for (int turn = 0; turn < TURNS; turn++) {
        pthread_mutex_lock(&lock);
        order[turns++] = name != NULL;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, take_turns, NULL);
    pthread_create(&second, NULL, take_turns, &turns);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    int code = 0;
    for (int turn = 0; turn < 2 * TURNS; turn++)
        code = code * 2 + order[turn];
    assert(code != 0x165 /* 0101100101 */);
    assert(code != 0x2a6 /* 1010100110 */);
    return 0;
}
