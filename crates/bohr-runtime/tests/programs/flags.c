// Leaves an open file that it was given as it should not: the next run must not
// find it so.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>

static void *work(void *unused) {
    int flags = fcntl(0, F_GETFL);
    assert((flags & O_NONBLOCK) == 0);
    assert(fcntl(0, F_SETFL, flags | O_NONBLOCK) == 0);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return 0;
}
