// Threads that print, through a buffer that is flushed at the end and past it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turns;

static void *print(void *name) {
    for (int times = 0; times < 5; times++) {
        char *line = malloc(64);
        pthread_mutex_lock(&lock);
        int length = snprintf(line, 64, "%s %d\n", (char *)name, turns++);
        if (times % 2 == 0) fputs(line, stdout);
        else if (write(2, line, length) != length) abort();
        pthread_mutex_unlock(&lock);
        free(line);
    }
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, print, "first");
    pthread_create(&second, NULL, print, "second");
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return turns != 10;
}
