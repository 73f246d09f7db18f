// What a thread is given and called: a stack of the program's own, a name, processors,
// and the clock by which somebody waits for its end.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

static cpu_set_t only(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    return set;
}

static void *stays(void *place) {
    long wanted = (long)place;
    unsigned seen;
    cpu_set_t set;
    assert(sched_getcpu() == wanted && getcpu(&seen, NULL) == 0 && seen == wanted);
    assert(pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0);
    assert(CPU_COUNT(&set) == 1 && CPU_ISSET(wanted, &set));
    assert(syscall(SYS_sched_getaffinity, 0, sizeof set, &set) > 0 && CPU_ISSET(wanted, &set));
    return NULL;
}

static int lines_that_begin(const char *path, const char *word) {
    char line[4096];
    int found = 0;
    FILE *file = fopen(path, "r");
    assert(file);
    while (fgets(line, sizeof line, file)) found += strncmp(line, word, strlen(word)) == 0;
    fclose(file);
    return found;
}

static void processors(void) {
    int number = (int)sysconf(_SC_NPROCESSORS_ONLN);
    assert(lines_that_begin("/proc/cpuinfo", "processor") == number);
    pthread_attr_t attributes;
    pthread_t threads[2];
    cpu_set_t set, none;
    CPU_ZERO(&none);
    pthread_attr_init(&attributes);
    for (int each = 0; each < 2; each++) {
        set = only(each);
        assert(pthread_attr_setaffinity_np(&attributes, sizeof set, &set) == 0);
        pthread_create(&threads[each], &attributes, stays, (void *)(long)each);
    }
    for (int each = 0; each < 2; each++) pthread_join(threads[each], NULL);
    assert(sched_getaffinity(0, sizeof set, &set) == 0);
    assert(CPU_COUNT(&set) == number);
    assert(sched_setaffinity(0, sizeof none, &none) == -1 && errno == EINVAL);
    assert(sched_setaffinity(99999, sizeof set, &set) == -1 && errno == ESRCH);
    set = only(1);
    assert(sched_setaffinity(gettid(), sizeof set, &set) == 0);
    stays((void *)1);
    // Threads begin where their parent is.
    pthread_create(&threads[0], NULL, stays, (void *)1);
    pthread_join(threads[0], NULL);
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
    processors();
    return 0;
}
