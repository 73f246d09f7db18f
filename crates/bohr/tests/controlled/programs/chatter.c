// Reads lines; one of them tells the threads to count without care. What else
// they do has nothing to do with that.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static int careless;
static atomic_int counter, chatter;

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < 6; i++)
        atomic_fetch_add(&chatter, i);
    if (careless) {
        int before = atomic_load(&counter);
        atomic_store(&counter, before + 1);
    } else {
        atomic_fetch_add(&counter, 1);
    }
    return 0;
}

int main(int argc, char **argv)
{
    char line[80];
    FILE *input = argc > 1 ? fopen(argv[1], "r") : stdin;
    while (input && fgets(line, sizeof line, input))
        if (strstr(line, "go"))
            careless = 1;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(atomic_load(&counter) == 2);
}
