// A lost update between two calls, which the assertions of bohr's header see.
#include <assert.h>
#include <bohr.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *add(void *unused) {
    pthread_mutex_lock(&lock);
    int seen = total;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    total = seen + 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(int count, char **words) {
    pthread_t threads[2];
    for (int each = 0; each < 2; each++) pthread_create(&threads[each], NULL, add, NULL);
    for (int each = 0; each < 2; each++) pthread_join(threads[each], NULL);
    assert(!"not in this build");
    if (count > 1 && strcmp(words[1], "fail") == 0) {
        if (total != 2) bohr_fail("an update was lost");
    } else {
        bohr_assert(total == 2);
    }
    return 0;
}
