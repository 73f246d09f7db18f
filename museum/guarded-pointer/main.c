// A parser walks over a list of records. Some records are empty; a flag tells
// the printer that there is nothing to print. Another thread resets the
// parser, flag included, whenever its input is rewound.
//
//     guarded-pointer [rewinders] [records]

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct record {
    long length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool nothing_there;
static long records;
static long printed;

static bool is_empty(long number) { return number % 3 == 2; }

static void print(const struct record *record)
{
    printed += record->length; // marker: record-used
}

static void *parse(void *argument)
{
    (void)argument;
    struct record full = {.length = 10};
    for (long number = 0; number < records; number++) {
        const struct record *record = &full;
        atomic_store(&nothing_there, false);

        pthread_mutex_lock(&lock);
        if (is_empty(number)) {
            atomic_store(&nothing_there, true); // marker: flag-raised
            record = NULL;
        }
#ifdef FIXED
        if (!atomic_load(&nothing_there))
            print(record);
        pthread_mutex_unlock(&lock);
#else
        pthread_mutex_unlock(&lock);
        if (!atomic_load(&nothing_there)) // marker: flag-checked
            print(record);
#endif
    }
    return NULL;
}

static void *rewind_input(void *argument)
{
    (void)argument;
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    atomic_store(&nothing_there, false); // marker: flag-reset
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    return NULL;
}

int main(int argc, char **argv)
{
    long rewinders = argc > 1 ? atol(argv[1]) : 1;
    records = argc > 2 ? atol(argv[2]) : 50;

    pthread_t parser;
    pthread_create(&parser, NULL, parse, NULL);
    pthread_t threads[rewinders];
    for (long i = 0; i < rewinders; i++)
        pthread_create(&threads[i], NULL, rewind_input, NULL);
    for (long i = 0; i < rewinders; i++)
        pthread_join(threads[i], NULL);
    pthread_join(parser, NULL);
    printf("printed %ld characters\n", printed);
}
