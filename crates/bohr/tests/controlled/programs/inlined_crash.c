// A thread that meets a null pointer in a function that the compiler puts into
// its caller, right behind code of the caller.
#include <pthread.h>
#include <stddef.h>

struct record {
    long length;
};

static struct record one = {1};
static struct record *volatile shared = &one;
static long printed, counted;

static void print(const struct record *record) {
    printed += record->length;
}

static void *parse(void *unused) {
    struct record *record = shared;
    counted++;
    print(record);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, parse, NULL);
    shared = NULL;
    pthread_join(thread, NULL);
    return printed == 7 && counted == 7;
}
