// Has a shared page and an open file before main begins.
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

static int *page;
static FILE *file;

__attribute__((constructor)) static void construct(void) {
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    file = tmpfile();
}

static void *work(void *unused) {
    ++*page;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return file == NULL;
}
