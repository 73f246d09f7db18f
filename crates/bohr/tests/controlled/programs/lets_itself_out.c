// Two threads that take two locks in opposite orders. One of them comes by a loop that reads
// like one that waits for the other one, but can leave it by itself; how, the argument tells.
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

struct node {
    struct node *next;
    int value;
};

static struct queue {
    struct node *first;
    int size;
} queue;

static struct node nodes[4];
static int used[8], begun, total;

static struct gate {
    int open;
} closed, *gate = &closed, other_gate = {1};

static const char *way;

static bool is(const char *name) { return strcmp(way, name) == 0; }

/* Leaves what is left to nobody. */
static void empty(struct queue *of) {
    while (of->size) {
        total += of->first->value;
        of->first = of->first->next;
        of->size--;
    }
}

static void take(struct queue *of) {
    total += of->first->value;
    of->first = of->first->next;
    of->size--;
}

static void empty_by_calls(struct queue *of) {
    while (of->size) {
        take(of);
        usleep(1);
    }
}

static void go_to_the_end(struct node *at) {
    while (at->next) {
        at = at->next;
        total += at->value;
    }
}

static void go_to_a_free_one(void) {
    int at = 0;
    while (used[at]) at++;
    total += at;
}

static void begin(void) {
    while (!begun) {
        usleep(1);
        begun = 1;
    }
}

static void wait_at_the_gate(void) {
    while (!gate->open) pthread_cond_wait(&changed, &lock);
}

static void cross(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *rightwards(void *argument) {
    cross(&left, &right);
    pthread_mutex_lock(&lock);
    if (is("empties")) empty(&queue);
    else if (is("calls")) empty(&queue);
    else if (is("list")) nodes[1].next = NULL;
    else if (is("row")) used[3] = 0;
    else if (is("begins")) begin();
    else closed.open = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *leftwards(void *argument) {
    pthread_mutex_lock(&lock);
    if (is("empties")) empty(&queue);
    else if (is("calls")) empty_by_calls(&queue);
    else if (is("list")) go_to_the_end(nodes);
    else if (is("row")) go_to_a_free_one();
    else if (is("begins")) begin();
    else wait_at_the_gate();
    pthread_mutex_unlock(&lock);
    cross(&right, &left);
    return argument;
}

/* Somebody else who lets it go on. */
static void *helps(void *argument) {
    pthread_mutex_lock(&lock);
    if (is("exchanged")) gate = &other_gate;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(int count, char **words) {
    way = count > 1 ? words[1] : "gate";
    for (int at = 0; at < 3; at++) nodes[at].next = &nodes[at + 1];
    for (int at = 0; at < 7; at++) used[at] = 1;
    queue.first = nodes;
    queue.size = 3;
    pthread_t one, other, helper;
    pthread_create(&one, NULL, rightwards, NULL);
    pthread_create(&other, NULL, leftwards, NULL);
    pthread_create(&helper, NULL, helps, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    pthread_join(helper, NULL);
    return total < 0;
}
