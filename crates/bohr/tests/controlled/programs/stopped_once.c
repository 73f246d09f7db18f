// Three threads wait for work until they are told to stop, and one signal tells them.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stopping;

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    while (!stopping) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t threads[3];
    for (int each = 0; each < 3; each++)
        pthread_create(&threads[each], NULL, work, NULL);
    pthread_mutex_lock(&lock);
    stopping = 1;
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&changed);
    for (int each = 0; each < 3; each++) pthread_join(threads[each], NULL);
    return 0;
}
