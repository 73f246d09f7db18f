// Two withdrawals that look before they take; natively the pause makes both look
// first nearly always. Which branch each takes depends on what the other has done.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int balance = 100, taken, refused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *withdraw(void *argument) {
    int amount = (int)(long)argument;
    for (int i = 0; i < 3; i++) {
        int seen = balance;
        usleep(2000);
        if (seen >= amount) {
            pthread_mutex_lock(&lock);
            balance -= amount;
            taken++;
            pthread_mutex_unlock(&lock);
        } else {
            pthread_mutex_lock(&lock);
            refused++;
            pthread_mutex_unlock(&lock);
        }
    }
    return 0;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, withdraw, (void *)40L);
    pthread_create(&two, 0, withdraw, (void *)30L);
    pthread_join(one, 0);
    pthread_join(two, 0);
    printf("%d taken, %d refused\n", taken, refused);
    assert(balance >= 0);
    return 0;
}
