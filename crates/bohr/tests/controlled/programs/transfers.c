/* Two threads transfer money between two accounts in opposite directions, and take the
   locks of both in the order of the transfer. */
#include <pthread.h>
#include <stdlib.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

static struct account *savings, *wages;

static struct account *opened(int balance) {
    struct account *account = malloc(sizeof *account);
    pthread_mutex_init(&account->lock, 0);
    account->balance = balance;
    return account;
}

static void transfer(struct account *from, struct account *to, int amount) {
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock);
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

static void *spend(void *argument) {
    transfer(savings, wages, 1);
    return argument;
}

static void *save(void *argument) {
    transfer(wages, savings, 2);
    return argument;
}

int main(void) {
    pthread_t threads[2];
    savings = opened(10);
    wages = opened(20);
    pthread_create(&threads[0], 0, spend, 0);
    pthread_create(&threads[1], 0, save, 0);
    for (int at = 0; at < 2; at++) {
        pthread_join(threads[at], 0);
    }
    return 0;
}
