// A block that one thread makes, another lets go, and one of them uses once more:
// reads it, or with an argument frees it again.
#include <pthread.h>
#include <stdlib.h>

static long *block;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int again;

static long *make(void) {
    return calloc(3, sizeof(long)); // marker: made
}

static void let_go(long *what) {
    free(what); // marker: freed
}

static void *user(void *argument) {
    pthread_mutex_lock(&lock);
    long *mine = block;
    pthread_mutex_unlock(&lock);
    if (again)
        let_go(mine);
    else
        mine[2]++; // marker: used
    return argument;
}

static void *owner(void *argument) {
    pthread_mutex_lock(&lock);
    long *mine = block;
    block = make();
    pthread_mutex_unlock(&lock);
    let_go(mine);
    return argument;
}

int main(int count, char **words) {
    again = count > 1 && words[1][0] != 0;
    block = make();
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, user, NULL);
    pthread_create(&threads[1], NULL, owner, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
