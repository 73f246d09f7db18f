// Two bookkeepers with the same code move money between accounts and count it. It is wrong if
// the older one's deposit is missing when the younger one counts for the last time, and
// right the other way round.
#include <assert.h>
#include <pthread.h>

static volatile int account[3] = {100, 100, 100};
static volatile int seen[2];

struct bookkeeper {
    int number, amount;
};

static void transfer(int from, int to, int amount) {
    int left = account[from] - amount;
    account[from] = left;
    int have = account[to];
    account[to] = have + amount;
}

static void *work(void *argument) {
    struct bookkeeper *bookkeeper = argument;
    for (int round = 0; round < 3; round++) {
        transfer(round, (round + 1) % 3, bookkeeper->amount);
        seen[bookkeeper->number] = account[0] + account[1] + account[2];
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    struct bookkeeper bookkeepers[2] = {{0, 7}, {1, 20}};
    for (int number = 0; number < 2; number++)
        pthread_create(&threads[number], NULL, work, &bookkeepers[number]);
    for (int number = 0; number < 2; number++)
        pthread_join(threads[number], NULL);
    assert(seen[1] != 293 || seen[0] != 300);
}
