// Three threads with the same code; the exit code is whose number was stored last.
#include <pthread.h>

static volatile int last;

static void *leave(void *number) {
    last = (int)(long)number;
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    for (long number = 1; number <= 3; number++)
        pthread_create(&threads[number - 1], NULL, leave, (void *)number);
    for (int number = 0; number < 3; number++)
        pthread_join(threads[number], NULL);
    return last;
}
