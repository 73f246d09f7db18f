// flags: -O1 -g -fno-inline -pthread
#include <pthread.h>
#include <stdint.h>

static uintptr_t tagged;
static unsigned char bytes[sizeof(int *)];
static int *const unchanging = (int *)0x1000;

static void remember(int *p) { tagged = (uintptr_t)p | 1; } //~ WrittenBeforeThreads
static int recall(void) { return *(int *)(tagged & ~(uintptr_t)1); } //~ WrittenBeforeThreads shared

/* Copies a pointer byte by byte, as a hand-written memcpy does. */
static void spill(int **from) {
    const unsigned char *source = (const unsigned char *)from;
    for (volatile int i = 0; i < (int)sizeof *from; i++) bytes[i] = source[i]; //~ Stack WrittenBeforeThreads
}

static void *worker(void *argument) {
    int *copy;
    __builtin_memcpy(&copy, bytes, sizeof copy); //~ WrittenBeforeThreads
    return (void *)(uintptr_t)(recall() + *copy + (argument ? *unchanging : 0)); //~ shared
}

int main(void) {
    pthread_t thread;
    int tagged_one = 1; //~ shared
    int spilled = 2; //~ shared
    int own = 3; //~ Stack
    int *pointer = &spilled; //~ Stack
    int *volatile mine = &own; //~ Stack
    remember(&tagged_one);
    spill(&pointer);
    pthread_create(&thread, 0, worker, 0);
    tagged_one = 2; //~ shared
    spilled = 3; //~ shared
    *mine = 4; //~ Stack
    pthread_join(thread, 0);
    return tagged_one + spilled + own; //~ Stack shared
}
