// flags: -O1 -g -fno-inline -pthread
#include <pthread.h>
#include <stdlib.h>

typedef int (*operation)(int *, int);

static int from_thread;
static int from_main;

static int in_thread(int *p, int n) { from_thread += n; return *p += n; } //~ Stack shared
static int in_main(int *p, int n) { from_main += n; return *p -= n; } //~ MainThread Stack
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; } //~ Stack

static operation thread_table[2] = {in_thread, in_thread};
static operation main_table[2] = {in_main, in_main};

static void *worker(void *argument) {
    int mine = 4; //~ Stack
    long n = (long)argument;
    return (void *)(long)thread_table[n & 1](&mine, 2); //~ Constant
}

int main(int count, char **words) {
    pthread_t thread;
    int sorted[4] = {4, 3, 2, count};
    int other = count; //~ Stack
    pthread_create(&thread, 0, worker, (void *)(long)count);
    qsort(sorted, 4, sizeof *sorted, compare);
    int result = main_table[count & 1](&other, 3); //~ Constant
    pthread_join(thread, 0);
    return result + sorted[1] + other; //~ Stack
}
