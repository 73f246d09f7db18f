// Connections of a server run statements; an administrator lists what every
// connection is doing right now, statement text included. The text and its
// length are kept side by side in the connection.
//
//     process-list [connections] [statements per connection]

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const statements[] = {
    "SELECT 1",
    "SELECT name FROM customers ORDER BY name",
    "COMMIT",
};

struct connection {
    pthread_mutex_t lock;
    _Atomic(const char *) text;
    atomic_size_t length;
};

static struct connection *connections;
static long connection_count;
static long statements_per_connection;

static void set_statement(struct connection *connection, const char *text)
{
    pthread_mutex_lock(&connection->lock);
    atomic_store(&connection->text, text);
    atomic_store(&connection->length, strlen(text)); // marker: length-written
    pthread_mutex_unlock(&connection->lock);
}

static size_t show(struct connection *connection)
{
#ifdef FIXED
    pthread_mutex_lock(&connection->lock);
#endif
    const char *text = atomic_load(&connection->text);      // marker: text-read
    size_t length = atomic_load(&connection->length);       // marker: length-read
#ifdef FIXED
    pthread_mutex_unlock(&connection->lock);
#endif
    assert(length == strlen(text)); // marker: text-fits
    return length;
}

static void *run_statements(void *argument)
{
    struct connection *connection = argument;
    for (long i = 0; i < statements_per_connection; i++)
        set_statement(connection, statements[i % 3]);
    return NULL;
}

static size_t list_processes(void)
{
    size_t shown = 0;
    for (long i = 0; i < connection_count; i++)
        shown += show(&connections[i]);
    return shown;
}

int main(int argc, char **argv)
{
    connection_count = argc > 1 ? atol(argv[1]) : 3;
    statements_per_connection = argc > 2 ? atol(argv[2]) : 20;

    connections = calloc(connection_count, sizeof *connections);
    pthread_t threads[connection_count];
    for (long i = 0; i < connection_count; i++) {
        pthread_mutex_init(&connections[i].lock, NULL);
        set_statement(&connections[i], "");
        pthread_create(&threads[i], NULL, run_statements, &connections[i]);
    }
    list_processes();
    for (long i = 0; i < connection_count; i++)
        pthread_join(threads[i], NULL);
    printf("showed %zu characters\n", list_processes());
    free(connections);
}
