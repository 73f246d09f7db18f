// A table that readers look up while a refresher replaces it. Readers ask
// whether there is a table before they take the lock, and believe the answer
// once they have it.
//
//   bohr cc -g -O1 -pthread examples/cache.c -o cache
//   bohr hunt -- ./cache

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct table {
    int size;
    int entries[8];
};

static struct table *table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct table *fresh(int seed) {
    struct table *made = malloc(sizeof *made);
    made->size = 8;
    for (int i = 0; i < made->size; i++) made->entries[i] = seed + i;
    return made;
}

static void publish(struct table *made) {
    pthread_mutex_lock(&lock);
    free(table);
    table = made;
    pthread_mutex_unlock(&lock);
}

static void *refresh(void *rounds) {
    for (long i = 0; i < (long)rounds; i++) {
        publish(NULL); // nobody may read the old table while the new one is made
        publish(fresh((int)i));
    }
    return NULL;
}

static int look_up(int key) {
    if (table == NULL) return -1;
    pthread_mutex_lock(&lock);
    int value = table->entries[key % table->size];
    pthread_mutex_unlock(&lock);
    return value;
}

static void *read_all(void *rounds) {
    long sum = 0;
    for (long i = 0; i < (long)rounds; i++) sum += look_up((int)i);
    return (void *)sum;
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 3;
    pthread_t readers[2], refresher;
    table = fresh(0);
    pthread_create(&refresher, NULL, refresh, (void *)rounds);
    for (int i = 0; i < 2; i++) pthread_create(&readers[i], NULL, read_all, (void *)rounds);
    for (int i = 0; i < 2; i++) pthread_join(readers[i], NULL);
    pthread_join(refresher, NULL);
    puts("all look-ups answered");
    return 0;
}
