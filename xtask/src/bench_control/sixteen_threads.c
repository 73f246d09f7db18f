// Sixteen threads that are all alive while each counts on its own.
#include <pthread.h>
#include <stddef.h>

enum { THREADS = 16, ROUNDS = 50 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *work(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int number = 0; number < THREADS; number++)
        pthread_create(&threads[number], NULL, work, NULL);
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    return total != THREADS * ROUNDS;
}
