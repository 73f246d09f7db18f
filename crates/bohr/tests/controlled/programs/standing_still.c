// Threads that stand still without a circle of mutexes. A consumer looks whether there is
// something before it takes the lock, and sleeps through the only signal; with "readers",
// somebody who reads a table wants a mutex whose owner wants to write in the table. A
// process that is told to take naps stands still every time.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static volatile int count, rows;
static int reads, naps;

static void nap(int milliseconds) {
    if (naps) usleep(milliseconds * 1000);
}

static void consume(void) {
    if (count == 0) {
        nap(100);
        pthread_mutex_lock(&lock);
        pthread_cond_wait(&filled, &lock);
        pthread_mutex_unlock(&lock);
    }
    count--;
}

static void produce(void) {
    nap(20);
    pthread_mutex_lock(&lock);
    count++;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
}

static void audit(void) {
    pthread_rwlock_rdlock(&table);
    nap(50);
    pthread_mutex_lock(&lock);
    count += rows;
    pthread_mutex_unlock(&lock);
    pthread_rwlock_unlock(&table);
}

static void enter(void) {
    pthread_mutex_lock(&lock);
    nap(50);
    pthread_rwlock_wrlock(&table);
    rows++;
    pthread_rwlock_unlock(&table);
    pthread_mutex_unlock(&lock);
}

static void *first(void *unused) {
    if (reads) audit();
    else consume();
    return unused;
}

static void *second(void *unused) {
    if (reads) enter();
    else produce();
    return unused;
}

int main(int number, char **words) {
    reads = number > 1 && strcmp(words[1], "readers") == 0;
    naps = getenv("NAP") != NULL;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
