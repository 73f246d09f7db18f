// Two threads that count with a library that the program loads itself.
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>

static void (*add)(int);

static void *count(void *unused) {
    add(1);
    return unused;
}

int main(int words, char **word) {
    void *library = dlopen(words > 1 ? word[1] : "./libtally.so", RTLD_NOW);
    assert(library);
    add = (void (*)(int))dlsym(library, "tally_add");
    int (*total)(void) = (int (*)(void))dlsym(library, "tally_total");
    pthread_t one, other;
    pthread_create(&one, 0, count, 0);
    pthread_create(&other, 0, count, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    assert(total() == 2);
    return 0;
}
