// Four threads, of which three wait; the first follows a pointer to nothing, four
// calls deep.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct node {
    int key;
    double weight;
    const char *name;
    struct node *next;
    unsigned flag : 3;
    unsigned more : 5;
    enum { RED, GREEN } colour;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *idle(void *unused) {
    pthread_mutex_lock(&lock);
    return unused;
}

__attribute__((noinline)) static int look(struct node *node, int depth) {
    int local = depth * 3;
    if (depth == 0) {
        struct node *missing = node->next;
        return missing->key + local;
    }
    return look(node, depth - 1) + local;
}

int main(void) {
    pthread_t threads[3];
    pthread_mutex_lock(&lock);
    for (int number = 0; number < 3; number++)
        pthread_create(&threads[number], NULL, idle, NULL);
    usleep(50000);
    struct node node = {42, 2.5, "forty-two", NULL, 5, 17, GREEN};
    long numbers[5] = {1, 2, 3, 4, -5};
    printf("%ld\n", numbers[4]);
    return look(&node, 3);
}
