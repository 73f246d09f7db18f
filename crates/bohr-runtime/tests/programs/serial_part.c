// A serial part before the first thread. The argument says what it does that
// runs cannot share, if anything; without threads if it is "alone".
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int values[1000];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char order[64];
static int *block;

static void *work(void *name) {
    for (int round = 0; round < 5; round++) {
        pthread_mutex_lock(&lock);
        strcat(order, name);
        (*block)++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void prepare(const char *what, const char *path) {
    int ends[2];
    if (strcmp(what, "pipe") == 0) {
        assert(pipe(ends) == 0);
    } else if (strcmp(what, "file") == 0) {
        FILE *file = fopen(path, "w");
        assert(file != NULL);
        fputs("x", file);
        fclose(file);
    } else if (strcmp(what, "shared") == 0) {
        int *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert(memory != MAP_FAILED);
    } else if (strcmp(what, "process") == 0) {
        if (fork() == 0)
            _exit(0);
        wait(NULL);
    } else if (strcmp(what, "remove") == 0) {
        unlink(path);
    } else if (strcmp(what, "read") == 0) {
        char text[16];
        FILE *file = fopen("/proc/self/comm", "r");
        assert(file != NULL && fgets(text, sizeof text, file) != NULL);
        assert(ioctl(fileno(file), FIOCLEX) == 0);
    }
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "nothing";
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("before\n");
    for (int number = 0; number < 1000; number++)
        values[number] = number;
    block = malloc(sizeof *block);
    *block = 0;
    prepare(what, count > 2 ? arguments[2] : "");
    if (strcmp(what, "alone") == 0)
        return 0;
    pthread_t first, second;
    pthread_create(&first, NULL, work, "a");
    pthread_create(&second, NULL, work, "b");
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("%s %d\n", order, *block);
    return values[999] != 999 || *block != 10;
}
