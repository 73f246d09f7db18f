// A waiter that does not look before it sleeps.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;

static void *announce(void *unused) {
    pthread_cond_signal(&ready);
    return unused;
}

int main(void) {
    pthread_t announcer;
    pthread_create(&announcer, NULL, announce, NULL);
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    pthread_join(announcer, NULL);
    return 0;
}
