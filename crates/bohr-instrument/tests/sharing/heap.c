// flags: -O1 -g -fno-inline -pthread
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <errno.h>

struct node { struct node *next; int value; };

static struct node *shared_list;

static struct node *push(struct node *list, int value) {
    struct node *node = malloc(sizeof *node);
    node->next = list; //~ shared
    node->value = value; //~ shared
    return node;
}

static int local_work(int n) {
    char *buffer = malloc(64);
    if (!buffer) return errno; //~ ThreadLocal
    snprintf(buffer, 64, "%d", n);
    int first = buffer[0]; //~ Heap
    char *more = realloc(buffer, 128);
    first += more[1]; //~ Heap
    free(more);
    return first;
}

static void *worker(void *argument) {
    int *total = argument;
    *total += local_work(*total); //~ shared
    shared_list = push(shared_list, *total); //~ shared
    return 0;
}

int main(void) {
    pthread_t thread;
    int *total = calloc(1, sizeof *total);
    volatile int *mine = calloc(4, sizeof *mine);
    mine[2] = local_work(5); //~ Heap
    pthread_create(&thread, 0, worker, total);
    pthread_join(thread, 0);
    return *total + mine[2] + shared_list->value; //~ Heap shared
}
