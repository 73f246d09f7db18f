// Goes as deep as its stack allows, in the main thread and in others; with an
// argument, deeper.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

// Every frame is known to the one below, so none can be done without.
static int descend(long bytes, volatile char *above) {
    volatile char frame[1000];
    frame[0] = (char)(above[0] + 1);
    int below = bytes > 0 ? descend(bytes - (long)sizeof frame - 100, frame) : 0;
    above[1] = frame[0];
    return below + 1;
}

static void *work(void *bytes) {
    volatile char top[2] = {0};
    assert(descend((long)bytes, top) > 10);
    return NULL;
}

static void run(size_t stack, long bytes) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack) assert(pthread_attr_setstacksize(&attributes, stack) == 0);
    assert(pthread_create(&thread, &attributes, work, (void *)bytes) == 0);
    pthread_join(thread, NULL);
}

int main(int count, char **words) {
    (void)words;
    work((void *)(6l << 20));
    run(0, 6l << 20);
    run(64 << 20, 50l << 20);
    run(200 << 20, 150l << 20);
    run(64 << 10, 20l << 10);
    if (count > 1) run(0, 40l << 20);
    return 0;
}
