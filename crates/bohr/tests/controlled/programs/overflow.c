// Overflows only if both deposits come before the withdrawal; nothing else shows it.
#include <limits.h>
#include <pthread.h>

static int balance = INT_MAX - 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *change(void *amount) {
    pthread_mutex_lock(&lock);
    balance += (int)(long)amount; // marker: overflow
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    long amounts[3] = {-1, 1, 1};
    for (int number = 0; number < 3; number++)
        pthread_create(&threads[number], NULL, change, (void *)amounts[number]);
    for (int number = 0; number < 3; number++) pthread_join(threads[number], NULL);
    return 0;
}
