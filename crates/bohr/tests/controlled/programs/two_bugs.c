// A count that gets lost, which nearly every schedule shows, and a pointer that is
// taken away between its check and its use, which few do. A process that is told to
// take a nap in between crashes by the second every time. With "hang" the threads
// take two locks in different orders instead.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int one = 1;
static int *volatile pointer = &one;
static volatile int count, enough;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
static int hangs, naps;

static void nap(void) {
    if (naps) usleep(100000);
}

static void take(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    nap();
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

__attribute__((noinline)) static int use(void) {
    if (pointer == NULL) return 0;
    nap();
    return *pointer;
}

static void add(void) {
    for (int turn = 0; turn < 5; turn++) count++;
}

static void *user(void *unused) {
    if (hangs) take(&left, &right);
    else enough += use();
    add();
    return unused;
}

static void *taker(void *unused) {
    if (hangs) take(&right, &left);
    add();
    if (naps) usleep(20000);
    if (!hangs) pointer = NULL;
    return unused;
}

int main(int number, char **words) {
    hangs = number > 1 && strcmp(words[1], "hang") == 0;
    naps = getenv("NAP") != NULL;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, user, NULL);
    pthread_create(&threads[1], NULL, taker, NULL);
    if (hangs && naps) {
        usleep(400000);
        abort();
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(count == 10);
    return 0;
}
