// Prints more than anybody wants to keep, through the C library and past it, and
// looks whether it is kept.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char piece[1 << 20];

static void *print(void *unused) {
    for (int times = 0; times < 400; times++) {
        if (fwrite(piece, 1, sizeof piece, stdout) != sizeof piece) return NULL;
        if (write(1, piece, sizeof piece) != sizeof piece) return NULL;
    }
    return unused;
}

int main(void) {
    memset(piece, 'x', sizeof piece);
    puts("first line");
    fflush(stdout);
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, print, piece);
    pthread_join(thread, &result);
    struct stat kept;
    if (fstat(1, &kept) == 0 && S_ISREG(kept.st_mode) && kept.st_size > 100 << 20) return 2;
    return result == NULL;
}
