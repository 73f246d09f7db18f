// A process with so many MiB in memory when its first thread starts.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *nothing(void *unused) { return unused; }

int main(int count, char **arguments) {
    size_t size = (size_t)(count > 1 ? atoi(arguments[1]) : 1) << 20;
    char *memory = malloc(size);
    memset(memory, 1, size);
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    return memory[size - 1] != 1;
}
