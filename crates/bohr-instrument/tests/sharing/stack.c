// flags: -O1 -g -fno-inline -pthread
#include <pthread.h>
#include <string.h>

static int fill(int *out, int n) { out[n & 7] = n; return out[0]; } //~ Stack
static int bump(int *p) { return ++*p; } //~ Stack

static void *worker(void *argument) {
    int mine[8];
    memset(mine, 1, sizeof mine); //~ Stack
    int sum = fill(mine, *(int *)argument); //~ shared
    sum += mine[3]; //~ Stack
    *(int *)argument += sum; //~ shared
    return 0;
}

static int *hidden;
static void hide(int *p) { hidden = p; } //~ MainThread

int main(void) {
    pthread_t thread;
    int given = 1; //~ shared
    int kept[8] = {0};
    volatile int local = 3; //~ Stack
    pthread_create(&thread, 0, worker, &given);
    fill(kept, 2);
    int other = kept[1]; //~ Stack
    hide(&other);
    given += local; //~ Stack shared
    pthread_join(thread, 0);
    return given + other + bump(&other) + *hidden; //~ MainThread Stack shared
}
