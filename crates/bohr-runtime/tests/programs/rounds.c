// Threads in several rounds, so that what ended threads have left is used again,
// and everything whose address a program can see.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 4, THREADS = 3 };

static _Thread_local int counter = 7;
static _Thread_local char area[100];
static pthread_key_t key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t seen;

static void *deeper(void *argument) {
    return (char *)argument + 1;
}

static void *work(void *argument) {
    int local = 0;
    void *block = malloc(40);
    pthread_setspecific(key, &local);
    pthread_mutex_lock(&lock);
    if (counter != 7 || area[5] != 0) abort();
    counter++;
    area[5] = 1;
    seen = seen * 31 + (uintptr_t)&local + (uintptr_t)&counter + (uintptr_t)pthread_self();
    printf("%p %p %p %p %p\n", (void *)&local, (void *)&counter, (void *)area, block,
           (void *)pthread_self());
    pthread_mutex_unlock(&lock);
    // The order of events depends on addresses, as it does where they are hashed.
    pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
    for (uintptr_t turns = ((uintptr_t)&local >> 4) % 3 + 1; turns > 0; turns--) {
        pthread_mutex_lock(&locks[turns % 2]);
        pthread_mutex_unlock(&locks[turns % 2]);
    }
    if ((intptr_t)argument % 3 == 1) {
        pthread_t child;
        pthread_create(&child, NULL, deeper, block);
        void *result;
        pthread_join(child, &result);
        if (result != (char *)block + 1) abort();
    }
    if ((intptr_t)argument % 3 == 2) pthread_exit(block);
    return block;
}

static void *large(void *argument) {
    volatile char area[20 << 20];
    area[0] = area[sizeof area - 1] = 1;
    printf("large %p\n", (void *)area);
    return argument;
}

int main(void) {
    pthread_key_create(&key, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        for (intptr_t number = 0; number < THREADS; number++)
            pthread_create(&threads[number], NULL, work, (void *)(number + round));
        pthread_t big;
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 32 << 20);
        if (pthread_create(&big, &attributes, large, NULL) != 0) abort();
        // In another order than they were created in.
        for (int number = 0; number < THREADS; number++) {
            void *block;
            pthread_join(threads[(number + round) % THREADS], &block);
            free(block);
        }
        pthread_join(big, NULL);
    }
    printf("%lx\n", (unsigned long)seen);
    return 0;
}
