// A deposit reads the balance, and later writes the sum, each under the lock. The
// function that reads is put inline wherever it is called: only one of these places
// is to blame.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long balance;

static inline __attribute__((always_inline)) long look(void) {
    pthread_mutex_lock(&lock); // looks
    long seen = balance;
    pthread_mutex_unlock(&lock);
    return seen;
}

static inline __attribute__((always_inline)) void set(long amount) {
    pthread_mutex_lock(&lock); // sets
    balance = amount;
    pthread_mutex_unlock(&lock);
}

static void *deposit(void *amount) {
    long before = look(); // before
    set(before + (long)amount);
    long after = look(); // after
    assert(after >= (long)amount);
    return amount;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, deposit, (void *)1);
    pthread_create(&second, NULL, deposit, (void *)2);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert(look() == 3);
    return 0;
}
