// query-cache, after queries that ran one by one.
//
//     query-cache [clients] [queries per client] [rounds before]

#define main exhibit_main
#include "../../museum/query-cache/main.cpp"
#include "preceding.h"

static QueryCache *cache_before;

static void begin_work() {
    cache_before = new QueryCache(8);
}

static void round_of_work(long number) {
    answer(*cache_before, static_cast<unsigned>(number));
    if (number % 20 == 19)
        cache_before->resize(number % 4 * 8);
}

static void end_work() {
    delete cache_before;
}
