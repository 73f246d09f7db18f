// A program whose last words would clear a terminal and rename its window.
#include <assert.h>
#include <pthread.h>

static int *shared, cell = 1;

static void *take(void *argument) {
    shared = 0;
    return argument;
}

static void *look(void *argument) {
    if (!shared)
        __assert_fail("\033[2J\033]0;renamed\007", "\033[31mred.c", 1, "look");
    return argument;
}

int main(void) {
    pthread_t threads[2];
    shared = &cell;
    pthread_create(&threads[0], NULL, take, NULL);
    pthread_create(&threads[1], NULL, look, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
