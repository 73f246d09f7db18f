// Two clerks who count to the same tally without a lock; the pause in between makes
// one of the counts get lost nearly always. The exit code says whether it did.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct clerk {
    pthread_t thread;
    volatile int *tally;
    char name[16];
};

static void *count(void *argument) {
    struct clerk *clerk = argument;
    int seen = *clerk->tally;
    usleep(2000);
    *clerk->tally = seen + 1;
    return 0;
}

int main(void) {
    static volatile int tally;
    struct clerk clerks[2];
    for (int i = 0; i < 2; i++) {
        clerks[i].tally = &tally;
        snprintf(clerks[i].name, sizeof clerks[i].name, "clerk %d", i);
        pthread_create(&clerks[i].thread, 0, count, &clerks[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(clerks[i].thread, 0);
    printf("%d by %s and %s\n", tally, clerks[0].name, clerks[1].name);
    return tally == 2 ? 0 : 1;
}
