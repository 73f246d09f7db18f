// Two threads take two locks in opposite order. Others queue for a lock of their
// own, and some of them wait for it when nobody can go on any more.
#include <pthread.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER,
                       door = PTHREAD_MUTEX_INITIALIZER;
static int passed;

static void *leftward(void *unused)
{
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&right);
        pthread_mutex_lock(&left); // marker: left-wanted
        pthread_mutex_unlock(&left);
        pthread_mutex_unlock(&right);
    }
    return unused;
}

static void *rightward(void *unused)
{
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&left);
        pthread_mutex_lock(&right); // marker: right-wanted
        pthread_mutex_unlock(&right);
        pthread_mutex_unlock(&left);
    }
    return unused;
}

static void *queue(void *unused)
{
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&door); // marker: door-wanted
        // Nobody leaves while others are stuck.
        pthread_mutex_lock(&left);
        passed++;
        pthread_mutex_unlock(&left);
        pthread_mutex_unlock(&door);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[5];
    void *(*const bodies[5])(void *) = {queue, leftward, queue, rightward, queue};
    for (int i = 0; i < 5; i++)
        pthread_create(&threads[i], 0, bodies[i], 0);
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], 0);
    return 0;
}
