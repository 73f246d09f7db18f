// Two threads that give way to each other: for ever, in the same state again and again or
// in a new one as they count, or often and not in vain.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int open_door[2], steps;
static int after_you, counts;
static long waited[2];

static void *walk(void *argument) {
    int own = argument != NULL;
    long times = 0;
    if (after_you)
        for (; !open_door[!own]; times += counts) sched_yield();
    else
        for (int round = 0; round < 150000; round++) {
            steps++;
            sched_yield();
        }
    waited[own] = times;
    open_door[own] = 1;
    return NULL;
}

int main(int count, char **words) {
    pthread_t threads[2];
    counts = count > 1 && strcmp(words[1], "counting") == 0;
    after_you = counts || (count > 1 && strcmp(words[1], "after-you") == 0);
    pthread_create(&threads[0], NULL, walk, NULL);
    pthread_create(&threads[1], NULL, walk, threads);
    for (int each = 0; each < 2; each++) pthread_join(threads[each], NULL);
    if (counts) return waited[0] + waited[1] > 100;
    return steps != 0 && steps != 300000;
}
