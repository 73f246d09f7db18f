// Memory and semaphores with names: a run makes them anew, whatever other runs have left
// or are doing, and finds what it has made itself, in a copy of itself, too.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const name = "/bohr-test-named";

static int *map(int descriptor) {
    int *numbers = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    assert(numbers != MAP_FAILED);
    close(descriptor);
    return numbers;
}

static void *work(void *unused) {
    sem_t *one = sem_open(name, 0);
    int *numbers = map(shm_open(name, O_RDWR, 0));
    assert(one != SEM_FAILED);
    for (int turn = 0; turn < 3; turn++) {
        sem_wait(one);
        numbers[0]++;
        sem_post(one);
    }
    munmap(numbers, 4096);
    assert(sem_close(one) == 0);
    return unused;
}

int main(void) {
    assert(shm_open(name, O_RDWR, 0) == -1 && errno == ENOENT);
    int memory = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    struct stat status;
    assert(memory >= 0 && ftruncate(memory, 4096) == 0);
    assert(fstat(memory, &status) == 0 && status.st_size == 4096);
    assert(fcntl(memory, F_GETFD) == FD_CLOEXEC);
    assert(shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600) == -1 && errno == EEXIST);
    int *numbers = map(memory);

    sem_t *one = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
    assert(one != SEM_FAILED && sem_open(name, O_CREAT, 0600, 5) == one);
    assert(sem_open(name, O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED && errno == EEXIST);
    pthread_t threads[2];
    for (int each = 0; each < 2; each++) pthread_create(&threads[each], 0, work, 0);
    for (int each = 0; each < 2; each++) pthread_join(threads[each], 0);
    assert(numbers[0] == 6);

    pid_t child = fork();
    if (child == 0) {
        map(shm_open(name, O_RDWR, 0))[1] = 7;
        sem_post(sem_open(name, 0));
        _exit(0);
    }
    int end;
    assert(waitpid(child, &end, 0) == child && end == 0);
    assert(numbers[1] == 7 && sem_wait(one) == 0 && sem_wait(one) == 0 && sem_trywait(one) == -1);

    assert(shm_unlink(name) == 0 && shm_unlink(name) == -1 && errno == ENOENT);
    assert(sem_unlink(name) == 0 && sem_unlink(name) == -1 && errno == ENOENT);
    assert(numbers[0] == 6 && sem_post(one) == 0);
    // Whoever has opened it can close it still.
    assert(sem_open(name, 0) == SEM_FAILED && errno == ENOENT && sem_close(one) == 0);
    // Left behind on purpose.
    assert(shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600) >= 0);
    assert(sem_open(name, O_CREAT | O_EXCL, 0600, 1) != SEM_FAILED);
    return 0;
}
