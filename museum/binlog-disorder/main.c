// A database with a replica. Clients update one row; each update is also
// written to a log, and the replica applies the log from first to last. In the
// end both must hold the same.
//
//     binlog-disorder [clients] [updates per client]

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    pthread_mutex_t lock;
    long value;
} row = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    pthread_mutex_t lock;
    long *values;
    long length;
} update_log = {.lock = PTHREAD_MUTEX_INITIALIZER};

static long updates;

static void write_log(long value)
{
    pthread_mutex_lock(&update_log.lock);
    update_log.values[update_log.length++] = value; // marker: update-logged
    pthread_mutex_unlock(&update_log.lock);
}

static void update(long value)
{
    pthread_mutex_lock(&row.lock);
    row.value = value; // marker: row-updated
#ifdef FIXED
    write_log(value);
    pthread_mutex_unlock(&row.lock);
#else
    pthread_mutex_unlock(&row.lock);
    write_log(value);
#endif
}

static void *run_client(void *argument)
{
    long client = (long)argument;
    for (long i = 0; i < updates; i++)
        update(client * updates + i);
    return NULL;
}

static long replay(void)
{
    long replica = 0;
    for (long i = 0; i < update_log.length; i++)
        replica = update_log.values[i];
    return replica;
}

int main(int argc, char **argv)
{
    long clients = argc > 1 ? atol(argv[1]) : 3;
    updates = argc > 2 ? atol(argv[2]) : 10;

    update_log.values = calloc(clients * updates, sizeof *update_log.values);
    pthread_t threads[clients];
    for (long i = 0; i < clients; i++)
        pthread_create(&threads[i], NULL, run_client, (void *)i);
    for (long i = 0; i < clients; i++)
        pthread_join(threads[i], NULL);
    assert(replay() == row.value); // marker: replica-agrees
    free(update_log.values);
    printf("%ld updates; the replica holds %ld\n", clients * updates, row.value);
}
