// Six clerks write thousands of entries into journals of their own and post each
// to one account without a lock. How many there are stands in memory that anybody
// may write, so the loop reads it again for every entry.

#include <assert.h>
#include <pthread.h>

enum { CLERKS = 6, PAGES = 12 };

int entries = 1000;
static volatile int balance;
static int journal[CLERKS][PAGES];

__attribute__((noinline)) static void post(int clerk, int entry) {
    for (int page = 0; page < PAGES; page++)
        journal[clerk][page] += entry;
    int seen = balance;
    balance = seen + 1;
    assert(balance == seen + 1);
}

static void *clerk(void *number) {
    for (int entry = 0; entry < entries; entry++)
        post(*(int *)number, entry);
    return 0;
}

int main(void) {
    pthread_t clerks[CLERKS];
    int numbers[CLERKS];
    for (int i = 0; i < CLERKS; i++) {
        numbers[i] = i;
        pthread_create(&clerks[i], 0, clerk, &numbers[i]);
    }
    for (int i = 0; i < CLERKS; i++)
        pthread_join(clerks[i], 0);
    return 0;
}
