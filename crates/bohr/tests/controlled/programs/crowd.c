// Depositors who read and write the balance in two critical sections, many
// times, and bystanders who only count for themselves. Two depositors and one
// deposit of each are enough to lose money.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

enum { DEPOSITORS = 4, BYSTANDERS = 4, DEPOSITS = 5 };

static int balance, lost;
static int counted[BYSTANDERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void deposit(void) {
    pthread_mutex_lock(&lock);
    int seen = balance;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    lost += balance != seen;
    balance = seen + 1;
    pthread_mutex_unlock(&lock);
}

static void *deposits(void *unused) {
    for (int i = 0; i < DEPOSITS; i++)
        deposit();
    return unused;
}

static void *counts(void *mine) {
    int *counter = mine;
    for (int i = 0; i < 10; i++)
        *counter += i;
    return NULL;
}

int main(void) {
    pthread_t depositors[DEPOSITORS], bystanders[BYSTANDERS];
    for (int i = 0; i < BYSTANDERS; i++)
        pthread_create(&bystanders[i], NULL, counts, &counted[i]);
    for (int i = 0; i < DEPOSITORS; i++)
        pthread_create(&depositors[i], NULL, deposits, NULL);
    for (int i = 0; i < BYSTANDERS; i++)
        pthread_join(bystanders[i], NULL);
    for (int i = 0; i < DEPOSITORS; i++)
        pthread_join(depositors[i], NULL);
    assert(lost == 0);
    return 0;
}
