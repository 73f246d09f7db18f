// Starts processes of its own, with threads in them.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *add(void *unused) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        counter++;
        free(malloc(i));
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void crowd(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
}

static int ends[2];

static void *forks(void *unused) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        char go;
        if (read(ends[0], &go, 1) != 1)
            _exit(2);
        crowd();
        _exit(counter == 300 ? 0 : 1);
    }
    assert(waitpid(child, &status, 0) == child && status == 0);
    return unused;
}

int main(void) {
    pthread_t thread;
    assert(pipe(ends) == 0);
    pthread_create(&thread, 0, forks, 0);
    assert(write(ends[1], "!", 1) == 1); // the child waits for us, the thread for it
    pthread_join(thread, 0);
    assert(system("true") == 0);
    counter = 0;
    crowd();
    return counter == 300 ? 0 : 1;
}
