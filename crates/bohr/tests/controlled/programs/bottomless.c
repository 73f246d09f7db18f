/* Recurses without end if one thread reads between two writes of another. Its frames
   are small, so hooks come to the end of the stack as often as its own code does. */
#include <pthread.h>

static volatile int phase, visits;

__attribute__((noinline)) static int deeper(int depth) {
    volatile char space[48];
    space[0] = (char)depth;
    visits++;
    return depth < 0 ? 0 : deeper(depth + 1) + space[0];
}

static void *reader(void *argument) {
    if (phase == 1) {
        deeper(0);
    }
    return argument;
}

static void *writer(void *argument) {
    phase = 1;
    phase = 2;
    visits = 0;
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, reader, 0);
    pthread_create(&threads[1], 0, writer, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
