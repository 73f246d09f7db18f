// Threads whose number is compared with what they come to: none can go. Two of
// them lose an update; the others only have to run at some time.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 5 };
static atomic_int done;

static void *work(void *unused)
{
    (void)unused;
    int before = atomic_load(&done);
    atomic_store(&done, before + 1);
    return 0;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    assert(atomic_load(&done) == THREADS);
}
