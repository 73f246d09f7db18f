// A bank branch: several tellers serve customers of one account. Each teller
// pays in some money, looks at the account, pays the same sum out again and
// looks once more. When the branch closes the account must be as it was.
//
//     account [tellers] [customers per teller]

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    pthread_mutex_t lock;
    long balance;
} account = {.lock = PTHREAD_MUTEX_INITIALIZER};

static long customers;

static long balance(void)
{
    pthread_mutex_lock(&account.lock);
    long now = account.balance;
    pthread_mutex_unlock(&account.lock);
    return now;
}

static void set_balance(long amount)
{
    pthread_mutex_lock(&account.lock);
    account.balance = amount;
    pthread_mutex_unlock(&account.lock);
}

static void deposit(long amount)
{
#ifdef FIXED
    pthread_mutex_lock(&account.lock);
    account.balance += amount;
    pthread_mutex_unlock(&account.lock);
#else
    long before = balance();      // marker: balance-read
    set_balance(before + amount); // marker: balance-written
#endif
}

static void withdraw(long amount)
{
    pthread_mutex_lock(&account.lock);
    account.balance -= amount; // marker: balance-reduced
    pthread_mutex_unlock(&account.lock);
}

static void *teller(void *argument)
{
    long amount = (long)argument;
    for (long customer = 0; customer < customers; customer++) {
        deposit(amount);
        assert(balance() >= amount); // marker: deposit-arrived
        withdraw(amount);
        assert(balance() >= 0); // marker: not-overdrawn
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long tellers = argc > 1 ? atol(argv[1]) : 4;
    customers = argc > 2 ? atol(argv[2]) : 5;

    set_balance(0);
    pthread_t threads[tellers];
    for (long i = 0; i < tellers; i++)
        pthread_create(&threads[i], NULL, teller, (void *)(i + 1));
    for (long i = 0; i < tellers; i++)
        pthread_join(threads[i], NULL);

    assert(balance() == 0); // marker: books-balance
    printf("%ld tellers served %ld customers each; the account is even\n", tellers, customers);
}
