// idle-workers, after connections that were served one by one.
//
//     idle-workers [listeners, and as many workers] [connections per listener] [rounds before]

#define main exhibit_main
#include "../../museum/idle-workers/main.c"
#include "preceding.h"

static void begin_work(void)
{
    queue.capacity = 1;
    queue.connections = calloc(1, sizeof *queue.connections);
}

static void round_of_work(long number)
{
    set_idle();
    wait_for_idler();
    push(number);
    pop();
}

static void end_work(void)
{
    free(queue.connections);
    queue.first = 0;
}
