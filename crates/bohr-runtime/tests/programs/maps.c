// Memory mapped before the threads and given back after them; and some that each
// thread maps for itself, of which only the first gives it back. With an argument
// that memory stays ("stay"), is touched after it was given back ("touch"), or makes
// room for another mapping, whose place is told ("again").
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LENGTH = 3 * 4096 };

static char *shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static char *map(void) {
    char *memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, 4096, PROT_NONE) != 0) abort();
    return memory;
}

static void *work(void *first) {
    char *own = map();
    if (own[5000] != 0) abort();
    own[5000] = 1;
    for (int turn = 0; turn < 3; turn++) {
        pthread_mutex_lock(&lock);
        shared[5000]++;
        pthread_mutex_unlock(&lock);
    }
    if (first != NULL && munmap(own, LENGTH) != 0) abort();
    return NULL;
}

int main(int count, char **arguments) {
    const char what = count > 1 ? arguments[1][0] : 'g';
    shared = map();
    if (shared[5000] != 0) abort();
    pthread_t one, other;
    pthread_create(&one, NULL, work, &one);
    pthread_create(&other, NULL, work, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    if (shared[5000] != 6) abort();
    if (what == 's') return 0;
    if (munmap(shared, LENGTH) != 0) abort();
    if (what == 't') return ((volatile char *)shared)[5000];
    if (what == 'a') return (uintptr_t)map() >> 12 & 0x7f;
    return 0;
}
