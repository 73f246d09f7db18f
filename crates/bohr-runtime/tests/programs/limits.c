// Limits its own memory, and does with what it has left.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

static void *work(void *unused) {
    char *memory = malloc(1 << 20);
    assert(memory);
    memset(memory, 1, 1 << 20);
    free(memory);
    return unused;
}

static void *map(size_t size) {
    return mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// The limit holds for what is asked for from now on, together with what is there.
static void refused(void) {
    // What nobody looks at, the compiler would not ask for.
    void *volatile block = malloc((size_t)1200 << 20);
    assert(!block && errno == ENOMEM);
    assert(map((size_t)1200 << 20) == MAP_FAILED && errno == ENOMEM);
    void *most = map((size_t)800 << 20);
    block = malloc((size_t)400 << 20);
    assert(most != MAP_FAILED && !block);
    munmap(most, (size_t)800 << 20);
    for (int round = 0; round < 5; round++) {
        block = malloc((size_t)400 << 20);
        assert(block);
        free(block);
    }
}

int main(void) {
    struct rlimit limit = {1 << 30, 1 << 30}, seen, wrong = {2, 1};
    assert(setrlimit(RLIMIT_AS, &limit) == 0);
    assert(getrlimit(RLIMIT_AS, &seen) == 0 && seen.rlim_cur == 1 << 30);
    assert(prlimit(0, RLIMIT_DATA, &limit, &seen) == 0 && seen.rlim_cur > 1 << 30);
    assert(setrlimit(RLIMIT_AS, &wrong) == -1 && errno == EINVAL);
    refused();
    pthread_t threads[2];
    for (int each = 0; each < 2; each++) pthread_create(&threads[each], 0, work, 0);
    for (int each = 0; each < 2; each++) pthread_join(threads[each], 0);
    return 0;
}
