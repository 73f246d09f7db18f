// flags: -O1 -g -fno-inline -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const int table[4] = {1, 2, 3, 4};
static int options;          // written before the thread starts only
static int late_option;      // written after that, too
static int progress;         // touched by main only
static int results[4];
static _Thread_local int seen;
static char *name = "default";

static void *worker(void *argument) {
    int index = (int)(long)argument & 3;
    seen += table[index]; //~ Constant ThreadLocal
    results[index] = seen + options; //~ WrittenBeforeThreads shared
    results[0] += late_option; //~ shared
    puts(name); //~ WrittenBeforeThreads shared
    return 0;
}

static void report(void) { printf("%d\n", progress); } //~ MainThread

static void parse(int count, char **words) {
    options = count; //~ WrittenBeforeThreads
    late_option = count; //~ shared
    if (count > 1) name = words[1]; //~ WrittenBeforeThreads shared
}

int main(int count, char **words) {
    pthread_t thread;
    parse(count, words);
    progress = 1; //~ MainThread
    if (pthread_create(&thread, 0, worker, (void *)1L)) return 1;
    late_option = 2; //~ shared
    progress++; //~ MainThread
    report();
    pthread_join(thread, 0);
    return results[1]; //~ shared
}
