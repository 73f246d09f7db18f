// Limits its own memory, and does with what it has left.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void *work(void *unused) {
    char *memory = malloc(1 << 20);
    assert(memory);
    memset(memory, 1, 1 << 20);
    free(memory);
    return unused;
}

int main(void) {
    struct rlimit limit = {1 << 30, 1 << 30}, seen, wrong = {2, 1};
    assert(setrlimit(RLIMIT_AS, &limit) == 0);
    assert(getrlimit(RLIMIT_AS, &seen) == 0 && seen.rlim_cur == 1 << 30);
    assert(prlimit(0, RLIMIT_DATA, &limit, &seen) == 0 && seen.rlim_cur > 1 << 30);
    assert(setrlimit(RLIMIT_AS, &wrong) == -1 && errno == EINVAL);
    pthread_t threads[2];
    for (int each = 0; each < 2; each++) pthread_create(&threads[each], 0, work, 0);
    for (int each = 0; each < 2; each++) pthread_join(threads[each], 0);
    return 0;
}
