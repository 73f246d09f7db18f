// The example of ASPLOS 2010, figure 1: one thread keeps in a flag that a pointer is
// null, the other resets the flag in between. With NAP in the environment real threads
// meet that way; the loop has no variable that tells its iterations.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct item {
    int is_empty;
    int value;
    struct item *next;
};

static volatile int is_null;
static long total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void use(int *value) { total += *value; }

static void *reader(void *list) {
    int position = 0;
    for (struct item *item = list; item; item = item->next) {
        int *value = &item->value;
        is_null = 0;
        pthread_mutex_lock(&lock);
        if (item->is_empty) {
            is_null = 1;
            value = NULL;
        }
        pthread_mutex_unlock(&lock);
        if (getenv("NAP") && position++ == 2)
            usleep(200000);
        if (!is_null)
            use(value);
    }
    return NULL;
}

static void *resetter(void *unused) {
    if (getenv("NAP"))
        usleep(100000);
    is_null = 0;
    return unused;
}

int main(void) {
    struct item *list = NULL;
    for (int number = 5; number > 0; number--) {
        struct item *item = malloc(sizeof *item);
        item->is_empty = number == 3;
        item->value = number;
        item->next = list;
        list = item;
    }
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, reader, list);
    pthread_create(&threads[1], NULL, resetter, NULL);
    for (int thread = 0; thread < 2; thread++)
        pthread_join(threads[thread], NULL);
    printf("%ld\n", total);
    return 0;
}
