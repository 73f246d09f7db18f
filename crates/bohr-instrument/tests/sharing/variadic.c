// flags: -O1 -g -fno-inline -pthread
#include <pthread.h>
#include <stdarg.h>

static int *published;

static int sum(int count, ...) {
    va_list list;
    int total = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++) total += *va_arg(list, int *); //~ Stack
    va_end(list);
    return total;
}

static void publish(int count, ...) {
    va_list list;
    va_start(list, count);
    published = va_arg(list, int *); //~ Stack WrittenBeforeThreads
    va_end(list);
}

static void *worker(void *argument) {
    int a = 1, b = 2; //~ Stack
    int total = sum(2, &a, &b);
    return (void *)(long)(total + *published); //~ WrittenBeforeThreads shared
}

int main(void) {
    pthread_t thread;
    int shared = 1; //~ shared
    int own = 2; //~ Stack
    publish(1, &shared);
    pthread_create(&thread, 0, worker, 0);
    shared = 2; //~ shared
    pthread_join(thread, 0);
    return shared + sum(1, &own) + own; //~ Stack shared
}
