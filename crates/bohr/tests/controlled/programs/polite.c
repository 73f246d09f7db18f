// Two threads that withdraw when they see each other, and try again, for ever; with an
// argument, one thread alone that waits for what nobody will say, or one that gives up.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int wants[2], said;
static const char *way = "";

static void *polite(void *number) {
    int self = *(int *)number;
    for (;;) {
        atomic_store(&wants[self], 1);
        // It takes two looks at once, and the other one always wants, too.
        if (!atomic_load(&wants[1 - self]) && atomic_load(&wants[self]) == 2) return 0;
        atomic_store(&wants[self], 0);
    }
}

static void *alone(void *unused) {
    for (int i = 0; strcmp(way, "gives-up") || i < 700000; i++)
        if (atomic_load(&said)) break;
    return unused;
}

static void *waits(void *unused) {
    while (!atomic_load(&said)) {
    }
    return unused;
}

int main(int count, char **arguments) {
    pthread_t threads[2];
    int numbers[2] = {0, 1};
    if (count > 1) {
        way = arguments[1];
        pthread_create(&threads[0], 0, strcmp(way, "waits") ? alone : waits, 0);
        if (!strcmp(way, "says")) atomic_store(&said, 1);
        return pthread_join(threads[0], 0);
    }
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, polite, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
