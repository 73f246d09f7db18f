// One of two inspectors sees the target that was raised, and not yet the limit that
// was to be raised before.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int limit, target;

static void *raise_limit(void *unused) {
    atomic_store(&limit, 10);
    return unused;
}

static void *raise_target(void *unused) {
    atomic_store(&target, 10);
    return unused;
}

static void *inspect(void *unused) {
    int seen = atomic_load(&target);
    assert(seen <= atomic_load(&limit));
    return unused;
}

int main(void) {
    void *(*const bodies[])(void *) = {raise_limit, inspect, inspect, raise_target};
    pthread_t threads[4];
    for (int number = 0; number < 4; number++)
        pthread_create(&threads[number], NULL, bodies[number], NULL);
    for (int number = 0; number < 4; number++)
        pthread_join(threads[number], NULL);
}
