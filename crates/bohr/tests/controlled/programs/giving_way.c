// Two threads that give way to each other: for ever, or often and not in vain.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int open_door[2], steps;
static int after_you;

static void *walk(void *argument) {
    int own = argument != NULL;
    if (after_you)
        while (!open_door[!own]) sched_yield();
    else
        for (int round = 0; round < 150000; round++) {
            steps++;
            sched_yield();
        }
    open_door[own] = 1;
    return NULL;
}

int main(int count, char **words) {
    pthread_t threads[2];
    after_you = count > 1 && strcmp(words[1], "after-you") == 0;
    pthread_create(&threads[0], NULL, walk, NULL);
    pthread_create(&threads[1], NULL, walk, threads);
    for (int each = 0; each < 2; each++) pthread_join(threads[each], NULL);
    return steps != 0 && steps != 300000;
}
