// Two users close the last two handles of each object, take one off the count each,
// and then both look: both free it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct entry {
    atomic_int handles;
    atomic_int frees;
};

static struct entry entries[4];

static void close_handle(struct entry *entry) {
    atomic_fetch_sub(&entry->handles, 1);       // marker: closed
    int left = atomic_load(&entry->handles);    // marker: looked
    if (left == 0)
        assert(atomic_fetch_add(&entry->frees, 1) == 0);
}

static void *use(void *unused) {
    for (int number = 0; number < 4; number++)
        close_handle(&entries[number]);
    return unused;
}

int main(void) {
    for (int number = 0; number < 4; number++)
        atomic_store(&entries[number].handles, 2);
    pthread_t first, second;
    pthread_create(&first, NULL, use, NULL);
    pthread_create(&second, NULL, use, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}
