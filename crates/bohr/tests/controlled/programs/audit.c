// An audit adds to a balance while a deposit is under way: one of them is lost. The
// audit reads and writes in one statement.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int balance;

static void *deposit(void *unused) {
    int seen = balance;
    balance = seen + 1;
    return unused;
}

static void *audit(void *unused) {
    balance += 10;
    return unused;
}

int main(int count, char **words) {
    (void)words;
    pthread_t first, second;
    pthread_create(&first, NULL, deposit, NULL);
    pthread_create(&second, NULL, audit, NULL);
    if (count > 9)
        balance = 1; // marker: never
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert(balance == 11);
}
