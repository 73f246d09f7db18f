// Two threads that count without a lock. With -DFIXED the counter is atomic.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifdef FIXED
static _Atomic int counter;
#else
static int counter;
#endif

static void *count(void *unused) {
    for (int round = 0; round < 3; round++)
        counter++;
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, count, NULL);
    pthread_create(&second, NULL, count, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert(counter == 6);
    return 0;
}
