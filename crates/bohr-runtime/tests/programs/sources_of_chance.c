// Prints what differs from start to start of an uncontrolled program.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void show(const char *name, const unsigned char *bytes) {
    printf("%s", name);
    for (int number = 0; number < 16; number++) printf(" %02x", bytes[number]);
    printf("\n");
}

static void *look(void *unused) {
    unsigned char bytes[16];
    getrandom(bytes, sizeof bytes, 0);
    show("getrandom", bytes);
    syscall(SYS_getrandom, bytes, sizeof bytes, 0);
    show("syscall", bytes);
    const char *devices[] = {"/dev/urandom", "/dev/random"};
    for (int device = 0; device < 2; device++) {
        int file = open(devices[device], O_RDONLY);
        if (read(file, bytes, sizeof bytes) == sizeof bytes) show(devices[device], bytes);
        close(file);
    }
    FILE *stream = fopen("/dev/urandom", "r");
    if (fread(bytes, 1, sizeof bytes, stream) == sizeof bytes) show("stream", bytes);
    fclose(stream);
    void *page = mmap(NULL, 5000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    printf("mmap %p large %p time %ld pid %d tid %d\n", page, malloc(1 << 22), time.tv_nsec, getpid(),
           gettid());
    return unused;
}

int main(void) {
    show("AT_RANDOM", (const unsigned char *)getauxval(AT_RANDOM));
    look(NULL);
    pthread_t threads[2];
    for (int number = 0; number < 2; number++) pthread_create(&threads[number], NULL, look, NULL);
    for (int number = 0; number < 2; number++) pthread_join(threads[number], NULL);
    return 0;
}
