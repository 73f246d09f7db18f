// Waits for ever: for a semaphore of its own while a child lives that shares other
// memory with it, or, with an argument, for one that it shared with a child that has
// ended.
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t own, *shared;

static void *work(void *semaphore) {
    sem_wait(semaphore);
    return 0;
}

int main(int count, char **unused) {
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(shared, 1, 0);
    sem_init(&own, 0, 0);
    pid_t child = fork();
    if (child == 0) {
        if (count == 1) pause();
        _exit(unused == 0);
    }
    if (count > 1) waitpid(child, 0, 0);
    pthread_t thread;
    pthread_create(&thread, 0, work, count > 1 ? shared : &own);
    pthread_join(thread, 0);
    return 0;
}
