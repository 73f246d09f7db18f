// Does its work, then becomes another program.
#include <pthread.h>
#include <unistd.h>

static void *works(void *unused) {
    return unused;
}

int main(int count, char **arguments) {
    (void)count;
    pthread_t thread;
    pthread_create(&thread, 0, works, 0);
    pthread_join(thread, 0);
    execl("/bin/sh", "sh", "-c", arguments[1], (char *)0);
    return 1;
}
