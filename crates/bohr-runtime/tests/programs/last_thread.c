// `main` leaves by pthread_exit; whoever is last ends the process in good order.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int finished;

static void *works(void *unused) {
    pthread_mutex_lock(&lock);
    printf("worker %d\n", ++finished);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void says_goodbye(void) {
    printf("%d workers\n", finished);
}

int main(int count, char **arguments) {
    (void)arguments;
    atexit(says_goodbye);
    pthread_t thread;
    // With an argument `main` itself is last.
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, 0, works, 0);
        count > 1 ? pthread_join(thread, 0) : pthread_detach(thread);
    }
    pthread_exit(0);
}
