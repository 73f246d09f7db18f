// A job is freed when it is done, and nobody looks at it afterwards.
#include <pthread.h>
#include <stdlib.h>

struct job {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int done;
};

static void *work(void *argument) {
    struct job *job = argument;
    pthread_mutex_lock(&job->lock);
    job->done = 1;
    pthread_cond_signal(&job->changed);
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    struct job *job = malloc(sizeof *job);
    pthread_mutex_init(&job->lock, NULL);
    pthread_cond_init(&job->changed, NULL);
    job->done = 0;
    pthread_create(&thread, NULL, work, job);
    pthread_mutex_lock(&job->lock);
    while (!job->done) pthread_cond_wait(&job->changed, &job->lock);
    pthread_mutex_unlock(&job->lock);
    pthread_join(thread, NULL);
    free(job);
    return 0;
}
