/* Crashes three calls deep, one of them in a loop. */
#include <pthread.h>

static int *volatile nowhere;
static volatile int visits;

__attribute__((noinline)) static void innermost(int value) {
    visits = value;
    *nowhere = value; /* marker: crashes */
}

__attribute__((noinline)) static void between(int value) {
    for (int round = 0; round < value; round++) {
        visits++;
        innermost(round); /* marker: in a loop */
        visits++;
    }
}

static void *work(void *argument) {
    visits++;
    between(3); /* marker: alone */
    visits++;
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0); /* marker: waits */
    return 0;
}
