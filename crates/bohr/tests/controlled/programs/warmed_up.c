/* Warms up for long, with threads, a heap and a file, before it can fail: threads that
   are there from the beginning use what the last one takes away in between. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t warm = PTHREAD_COND_INITIALIZER;
static int is_warm;
static long table[512];
static __thread long steps;

static char *request = "a request";

/* With NAP in the environment real threads meet, too. */
static void nap(int milliseconds) {
    if (getenv("NAP"))
        usleep(milliseconds * 1000);
}

static int use(int turn) {
    pthread_mutex_lock(&lock);
    int usable = request != NULL;
    pthread_mutex_unlock(&lock);
    if (!usable)
        return 0;
    nap(400);
    pthread_mutex_lock(&lock);
    char *text = request;
    pthread_mutex_unlock(&lock);
    return text[turn % 4]; /* marker: crash */
}

static void warm_up(long number) {
    char *note = malloc(32);
    for (int round = 0; round < 300; round++) {
        steps++;
        pthread_mutex_lock(&lock);
        table[(round * 7 + number) % 512] += number;
        pthread_mutex_unlock(&lock);
    }
    snprintf(note, 32, "%ld: %ld", number, steps);
    pthread_mutex_lock(&lock);
    is_warm++;
    pthread_cond_broadcast(&warm);
    while (is_warm < WORKERS)
        pthread_cond_wait(&warm, &lock);
    puts(note);
    pthread_mutex_unlock(&lock);
    free(note);
}

static void *work(void *argument) {
    long number = (long)argument;
    long sum = 0;
    warm_up(number);
    if (number == WORKERS) {
        nap(200);
        pthread_mutex_lock(&lock);
        request = NULL;
        pthread_mutex_unlock(&lock);
        return NULL;
    }
    for (int turn = 0; turn < 3; turn++)
        sum += use(turn);
    return (void *)sum;
}

int main(int count, char **arguments) {
    long rounds = count > 1 ? atol(arguments[1]) : 1000;
    char words[16] = "";
    int file = count > 2 ? open(arguments[2], O_RDONLY) : -1;
    ssize_t got = read(file, words, 4);
    for (long round = 0; round < rounds; round++)
        table[round % 512] += table[(round * 31) % 512] + round;
    pthread_t threads[WORKERS];
    for (long number = 0; number < WORKERS; number++)
        pthread_create(&threads[number], NULL, work, (void *)(number + 1));
    for (int number = 0; number < WORKERS; number++)
        pthread_join(threads[number], NULL);
    got += read(file, words + 4, 4);
    long sum = 0;
    for (int at = 0; at < 512; at++)
        sum = sum * 31 + table[at];
    printf("%ld %ld %s\n", sum, (long)got, words);
    return 0;
}
