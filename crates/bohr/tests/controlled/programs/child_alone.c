// A thread is held up while another one forks: it does not come along, so whoever comes by
// in the child has nobody to meet there.
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static int there, balance;

static void *wait_there(void *unused) {
    __atomic_store_n(&there, 1, __ATOMIC_SEQ_CST);
    balance = 1; // marker: parent
    return unused;
}

int main(void) {
    pthread_t thread;
    int status = -1;
    pthread_create(&thread, NULL, wait_there, NULL);
    while (!__atomic_load_n(&there, __ATOMIC_SEQ_CST))
        usleep(100);
    usleep(20000);
    pid_t child = fork();
    if (child == 0) {
        balance = 2; // marker: child
        _exit(0);
    }
    // A wait without a limit would let the other thread go on.
    while (waitpid(child, &status, WNOHANG) == 0)
        usleep(100);
    pthread_join(thread, NULL);
    return status != 0 || balance != 1;
}
