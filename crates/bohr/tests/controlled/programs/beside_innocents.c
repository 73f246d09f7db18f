// An update is lost beside work that is locked as it should be, and a deadlock behind such
// work: neither is about what is locked.
#include <assert.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static long balance, hits;

static void pay_in(void) {
    pthread_mutex_lock(&lock);
    balance += 5;
    pthread_mutex_unlock(&lock);
}

static void *count(void *unused) {
    pay_in();
    long seen = hits; // read
    hits = seen + 1;  // written
    return unused;
}

static void take(pthread_mutex_t *first, pthread_mutex_t *second) {
    pay_in();
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *there(void *unused) {
    take(&one, &other);
    return unused;
}

static void *back(void *unused) {
    take(&other, &one);
    return unused;
}

int main(int count_of_words, char **words) {
    int locks = count_of_words > 1 && strcmp(words[1], "locks") == 0;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, locks ? there : count, NULL);
    pthread_create(&threads[1], NULL, locks ? back : count, NULL);
    for (int each = 0; each < 2; each++) pthread_join(threads[each], NULL);
    assert(locks || hits == 2);
    return 0;
}
