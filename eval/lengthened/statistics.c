// statistics, after queries that ran one by one.
//
//     statistics [query threads] [queries per thread] [rounds before]

#define main exhibit_main
#include "../../museum/statistics/main.c"
#include "preceding.h"

static long slow_before;

static void begin_work(void) {}

static void round_of_work(long number)
{
    long microseconds = number % 10 == 9 ? 500 : 20;
    count_query(microseconds);
    if (microseconds > 5 * mean())
        slow_before++;
}

static void end_work(void)
{
    reset();
}
