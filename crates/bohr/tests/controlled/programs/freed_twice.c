// Two threads that both find a block there, and both let it go.
#include <pthread.h>
#include <stdlib.h>

static char *volatile block;

static void *let_go(void *argument) {
    if (block) {
        free(block);
        block = NULL;
    }
    return argument;
}

int main(void) {
    block = malloc(10);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, let_go, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
