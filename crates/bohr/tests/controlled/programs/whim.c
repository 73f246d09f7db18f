// Looks at a file outside of anybody's control, and turns it over, before it decides
// whether to mind a lost update.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static volatile int total;
static int minds;

static void *add(void *unused)
{
    for (int i = 0; i < 5; i++) {
        int seen = total;
        total = seen + 1;
        assert(!minds || total == seen + 1);
    }
    return unused;
}

int main(int count, char **words)
{
    int file = open(count > 1 ? words[1] : "whim", O_RDWR);
    char now = 'y';
    if (pread(file, &now, 1, 0) != 1 || pwrite(file, now == 'y' ? "n" : "y", 1, 0) != 1)
        return 0;
    minds = now == 'y';
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return 0;
}
