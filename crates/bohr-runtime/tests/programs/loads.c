// Libraries that threads load, and variables in them that each thread has of its
// own. Loads itself: compiled as a library it is what is loaded.
#define _GNU_SOURCE
#ifdef LIBRARY
static _Thread_local int counter = 5;
static _Thread_local char area[3000];
int count(void) {
    if (area[2999] != counter - 5) return -1;
    area[2999]++;
    return counter++;
}
#else
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static const char *path;

static void *work(void *unused) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) puts(dlerror());
    assert(library);
    int (*count)(void) = (int (*)(void))dlsym(library, "count");
    for (int number = 5; number < 9; number++) assert(count() == number);
    return unused;
}

int main(int count, char **words) {
    assert(count == 2);
    path = words[1];
    for (int round = 0; round < 3; round++) {
        pthread_t threads[3];
        for (int number = 0; number < 3; number++) pthread_create(&threads[number], NULL, work, NULL);
        for (int number = 0; number < 3; number++) pthread_join(threads[number], NULL);
    }
    return 0;
}
#endif
