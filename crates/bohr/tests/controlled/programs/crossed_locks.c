// Two threads take two locks in opposite order.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;

static void *leftwards(void *unused) {
    pthread_mutex_lock(&right);
    pthread_mutex_lock(&left);
    pthread_mutex_unlock(&left);
    pthread_mutex_unlock(&right);
    return unused;
}

static void *rightwards(void *unused) {
    pthread_mutex_lock(&left);
    pthread_mutex_lock(&right);
    pthread_mutex_unlock(&right);
    pthread_mutex_unlock(&left);
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, leftwards, NULL);
    pthread_create(&second, NULL, rightwards, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
