// Two clerks post to one account without a lock. Before each entry they tidy
// their desks, which nothing depends on. Their loop can end at two places, so no
// iteration of it can be left out.

#include <assert.h>
#include <pthread.h>

static volatile int balance;
static int dust[8];

__attribute__((noinline)) static void tidy(int desk) {
    dust[desk & 7]++;
    dust[(desk + 1) & 7]++;
}

__attribute__((noinline)) static void post(void) {
    int seen = balance;
    balance = seen + 1;
    assert(balance == seen + 1);
}

__attribute__((noinline, optnone)) static int is_enough(int entry) {
    return entry > 50;
}

static void *clerk(void *desk) {
    for (int entry = 0; entry < 6; entry++) {
        if (is_enough(entry))
            break;
        tidy(*(int *)desk); // the chores begin
        post();             // the chores end
    }
    return 0;
}

int main(void) {
    pthread_t clerks[2];
    int desks[2] = {1, 4};
    for (int i = 0; i < 2; i++)
        pthread_create(&clerks[i], 0, clerk, &desks[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(clerks[i], 0);
    return 0;
}
