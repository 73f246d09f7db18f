// A door whose opener takes no lock: the guest sees it closed, and the signal comes
// before the guest waits. Lock and condition are fields of one object on the heap.
#include <pthread.h>
#include <stdlib.h>

struct door {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    int is_open;
};

static void *open_it(void *argument) {
    struct door *door = argument;
    door->is_open = 1;
    pthread_cond_signal(&door->opened);
    return NULL;
}

static void *enter(void *argument) {
    struct door *door = argument;
    pthread_mutex_lock(&door->lock);
    if (!door->is_open)
        pthread_cond_wait(&door->opened, &door->lock); // marker: waits
    pthread_mutex_unlock(&door->lock);
    return NULL;
}

int main(void) {
    pthread_t guest, opener;
    struct door *door = calloc(1, sizeof *door);
    pthread_mutex_init(&door->lock, NULL);
    pthread_cond_init(&door->opened, NULL);
    pthread_create(&guest, NULL, enter, door);
    pthread_create(&opener, NULL, open_it, door);
    pthread_join(guest, NULL);
    pthread_join(opener, NULL);
    free(door);
    return 0;
}
