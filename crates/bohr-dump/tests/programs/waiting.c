// Threads that wait for a writer, for the end of a thread and for a limited time, and a
// main thread that has enough of it.
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t written;

static void *write_slowly(void *unused) {
    pthread_rwlock_wrlock(&table);
    pthread_barrier_wait(&written);
    pause();
    return unused;
}

static void *read_soon(void *unused) {
    pthread_rwlock_rdlock(&table);
    return unused;
}

static void *join(void *other) {
    pthread_join(*(pthread_t *)other, NULL);
    return NULL;
}

static void *wait_a_while(void *unused) {
    struct timespec late;
    clock_gettime(CLOCK_REALTIME, &late);
    late.tv_sec += 1000;
    pthread_mutex_lock(&lock);
    pthread_cond_timedwait(&never, &lock, &late);
    return unused;
}

// Threads that are in the system call by which one waits for a word in memory.
static int waiting(void) {
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300];
        int call = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/syscall", task->d_name);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        if (fscanf(file, "%d", &call) == 1) count += call == 202;
        fclose(file);
    }
    closedir(tasks);
    return count;
}

int main(void) {
    pthread_t threads[4];
    pthread_barrier_init(&written, NULL, 2);
    pthread_create(&threads[0], NULL, write_slowly, NULL);
    pthread_barrier_wait(&written);
    pthread_create(&threads[1], NULL, read_soon, NULL);
    pthread_create(&threads[2], NULL, join, &threads[0]);
    pthread_create(&threads[3], NULL, wait_a_while, NULL);
    while (waiting() < 3) usleep(10000);
    abort();
}
