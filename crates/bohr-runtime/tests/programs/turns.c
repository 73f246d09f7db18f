// Two threads whose order shows in the output as it is written, in the heap and
// in thread-local storage. The argument says what one of them does on its way
// that others cannot share, if anything. Fails in some orders.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *obstacle = "nothing";
static _Thread_local int rounds;
static char *last;

static void *work(void *name) {
    for (rounds = 0; rounds < 3; rounds++) {
        char *own = strdup(name);
        pthread_mutex_lock(&lock);
        int ends[2];
        if (rounds == 1 && strcmp(obstacle, "pipe") == 0)
            assert(pipe(ends) == 0);
        assert(write(1, name, 1) == 1);
        free(last);
        last = own;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count > 1)
        obstacle = arguments[1];
    pthread_t one, other;
    pthread_create(&one, NULL, work, "a");
    pthread_create(&other, NULL, work, "b");
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    printf(" %s\n", last);
    return rounds != 0 || *last == 'a';
}
