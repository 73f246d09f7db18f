// Each call leaves its lock held, and the next one makes another in the same place.
#include <assert.h>
#include <pthread.h>

static int count;

__attribute__((noinline)) static void add(void) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int seen = count;
    pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&other);
    count = seen + 1;
}

static void *work(void *unused) {
    add();
    add();
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(count == 4);
}
