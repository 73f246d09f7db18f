// What a thread is given and called: a stack of the program's own, a name, and
// the clock by which somebody waits for its end.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static char memory[1 << 18] __attribute__((aligned(4096)));

static int is_in_memory(const char *address) {
    return address >= memory && address < memory + sizeof memory;
}

static int deep(int left) {
    char here[256];
    memset(here, left, sizeof here);
    return left == 0 ? is_in_memory(here) : deep(left - 1) + (here[7] != (char)left);
}

static void *on_given_stack(void *unused) {
    static __thread int own;
    pthread_attr_t attributes;
    void *start;
    size_t length;
    assert(++own == 1);
    assert(deep(100));
    sched_yield();
    assert(pthread_getattr_np(pthread_self(), &attributes) == 0);
    assert(pthread_attr_getstack(&attributes, &start, &length) == 0);
    assert(start == memory && length == sizeof memory);
    return unused;
}

static void *name_yourself(void *unused) {
    char name[16];
    assert(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
    assert(strcmp(name, "parent") == 0);
    assert(prctl(PR_SET_NAME, "a name of more than fifteen letters") == 0);
    sched_yield();
    assert(prctl(PR_GET_NAME, name) == 0 && strcmp(name, "a name of more ") == 0);
    return unused;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    char name[16];
    struct timespec time = {0, 0};
    pthread_attr_init(&attributes);
    assert(pthread_attr_setstack(&attributes, memory, sizeof memory) == 0);
    // The memory can be used again once its thread has been joined.
    for (int each = 0; each < 2; each++) {
        assert(pthread_create(&thread, &attributes, on_given_stack, &each) == 0);
        if (each == 0) assert(pthread_join(thread, NULL) == 0);
    }
    void *result = NULL;
    assert(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, NULL) == 0 && result);
    assert(pthread_setname_np(pthread_self(), "parent") == 0);
    assert(pthread_setname_np(pthread_self(), "sixteen letters!") != 0);
    assert(pthread_create(&thread, NULL, name_yourself, NULL) == 0);
    int early = pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &time);
    if (early != 0) {
        clock_gettime(CLOCK_REALTIME, &time);
        time.tv_sec += 60;
        assert(pthread_clockjoin_np(thread, NULL, CLOCK_REALTIME, &time) == 0);
    }
    assert(pthread_getname_np(pthread_self(), name, sizeof name) == 0 && !strcmp(name, "parent"));
    return 0;
}
