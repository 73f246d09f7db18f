/* A process with much memory in many small objects, for cores of the size that the
 * dump paper's programs left: a table of lists, several threads that wait, and one
 * that fails in the middle of it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 16, WAITERS = 7 };

struct node {
    struct node *next;
    unsigned long key;
    char name[24];
};

struct table {
    struct node *buckets[BUCKETS];
    unsigned long count;
};

static struct table table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;

static void insert(unsigned long key) {
    struct node *node = malloc(sizeof *node);
    if (!node) abort();
    node->key = key;
    memset(node->name, 'a' + key % 26, sizeof node->name - 1);
    node->name[sizeof node->name - 1] = 0;
    struct node **bucket = &table.buckets[key * 2654435761u % BUCKETS];
    node->next = *bucket;
    *bucket = node;
    table.count++;
}

static void *waiter(void *unused) {
    pthread_barrier_wait(&ready);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

/* The number of nodes; a node takes 48 bytes of the heap. */
int main(int count, char **words) {
    unsigned long nodes = count > 1 ? strtoul(words[1], 0, 10) : 1000;
    pthread_t threads[WAITERS];
    for (unsigned long key = 0; key < nodes; key++) insert(key);
    pthread_barrier_init(&ready, 0, WAITERS + 1);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < WAITERS; i++) pthread_create(&threads[i], 0, waiter, 0);
    pthread_barrier_wait(&ready);
    if (table.count == nodes) abort();
    return 0;
}
