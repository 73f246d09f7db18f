// Two threads that come to their only conflict after a long way: what a search
// executes again and again if every run begins at the beginning.
#include <pthread.h>
#include <stddef.h>

enum { ROUNDS = 3000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned work_done;
static int total;

static void *work(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        for (int step = 0; step < 5000; step++)
            work_done += step;
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return total != 2 * ROUNDS;
}
