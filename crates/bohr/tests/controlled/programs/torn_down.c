// Main takes the queue down when the writer has all results and the helpers have ended,
// though the first worker may look into it once more to see that nothing is left. With NAP
// in the environment real threads meet that way.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HELPERS = 2, PIECES = 9 };

struct queue {
    long unused;
    pthread_mutex_t *lock;
    int left;
};

static pthread_mutex_t results_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int results;

__attribute__((noinline)) static int taken(pthread_mutex_t *lock, int *left) {
    pthread_mutex_lock(lock);
    int piece = *left > 0 ? (*left)-- : 0;
    pthread_mutex_unlock(lock);
    return piece;
}

static void work(struct queue *queue, int nap) {
    int done = 0;
    for (;;) {
        if (nap && done == PIECES / (1 + HELPERS))
            usleep(100000);
        int piece = taken(queue->lock, &queue->left);
        if (piece == 0)
            return;
        done++;
        pthread_mutex_lock(&results_lock);
        results += 1;
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&results_lock);
    }
}

static void *begin(void *queue) {
    work(queue, getenv("NAP") != NULL);
    return NULL;
}

static void *help(void *queue) {
    if (getenv("NAP"))
        usleep(20000);
    work(queue, 0);
    return NULL;
}

static void *write_all(void *unused) {
    pthread_mutex_lock(&results_lock);
    while (results < PIECES)
        pthread_cond_wait(&more, &results_lock);
    pthread_mutex_unlock(&results_lock);
    return unused;
}

static void *say_goodbye(void *unused) {
    if (getenv("NAP"))
        usleep(300000);
    return unused;
}

int main(void) {
    struct queue *queue = calloc(1, sizeof *queue);
    queue->lock = malloc(sizeof *queue->lock);
    queue->left = PIECES;
    pthread_mutex_init(queue->lock, NULL);
    pthread_t worker, helpers[HELPERS], writer, last;
    pthread_create(&worker, NULL, begin, queue);
    pthread_detach(worker);
    for (int number = 0; number < HELPERS; number++)
        pthread_create(&helpers[number], NULL, help, queue);
    pthread_create(&writer, NULL, write_all, NULL);
    pthread_join(writer, NULL);
    for (int number = 0; number < HELPERS; number++)
        pthread_join(helpers[number], NULL);
    pthread_mutex_destroy(queue->lock);
    free(queue->lock);
    queue->lock = NULL;
    free(queue);
    pthread_create(&last, NULL, say_goodbye, NULL);
    pthread_join(last, NULL);
    puts("all written");
    return 0;
}
