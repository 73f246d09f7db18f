// process-list, after statements that ran one by one.
//
//     process-list [connections] [statements per connection] [rounds before]

#define main exhibit_main
#include "../../museum/process-list/main.c"
#include "preceding.h"

static void begin_work(void)
{
    connection_count = 1;
    connections = calloc(1, sizeof *connections);
    pthread_mutex_init(&connections[0].lock, NULL);
}

static void round_of_work(long number)
{
    set_statement(&connections[0], statements[number % 3]);
    list_processes();
}

static void end_work(void)
{
    free(connections);
}
