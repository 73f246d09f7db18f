// Ways through a program of every kind, each with calls by which it can be stopped:
// loops that count and loops that do not, with their conditions at the top and at the
// bottom, left and repeated early; conditions of several parts; cases that fall through;
// functions that call themselves. What a thread does depends on its number alone.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void note(long value) {
    pthread_mutex_lock(&lock);
    sum += value;
    pthread_mutex_unlock(&lock);
}

// Collatz: nobody knows how often.
__attribute__((noinline)) static long steps(long number) {
    long count = 0;
    while (number != 1) {
        if (number % 2)
            number = 3 * number + 1;
        else
            number /= 2;
        if (++count % 3 == 0 && number > 4)
            note(number);
    }
    return count;
}

__attribute__((noinline)) static long digits(long number, int base) {
    long count = 0;
    do {
        count++;
        if (number % base == 0 || (number % base == 3 && count > 1))
            note(count);
        number /= base;
    } while (number);
    return count;
}

__attribute__((noinline)) static int find(const long *table, int rows, int columns, long wanted) {
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < columns; column++) {
            if (table[row * columns + column] < 0)
                continue;
            if (table[row * columns + column] == wanted)
                return row * columns + column;
            if (column % 2)
                note(column);
        }
        note(row);
    }
    return -1;
}

__attribute__((noinline)) static void classes(long number) {
    switch (number % 5) {
    case 0:
        note(0);
        break;
    case 1:
    case 2:
        note(1);
        // falls through
    case 3:
        note(3);
        break;
    default:
        note(4);
    }
}

__attribute__((noinline)) static long fibonacci(int number) {
    if (number < 2) {
        note(number);
        return number;
    }
    long one = fibonacci(number - 1);
    return one + fibonacci(number - 2);
}

static void *walk(void *argument) {
    long own = (long)argument;
    long table[12];
    for (int position = 0; position < 12; position++)
        table[position] = position % 5 == own ? -1 : position * own;
    for (long round = 1; round <= 4; round++) {
        steps(6 + own + round);
        if (round == 3)
            continue;
        digits(1000 * own + 37 * round, 7);
        find(table, 3, 4, own * (4 + round));
        classes(own + round);
        fibonacci(3 + (int)(round % 2));
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (long number = 0; number < 2; number++)
        pthread_create(&threads[number], NULL, walk, (void *)(number + 1));
    for (int number = 0; number < 2; number++)
        pthread_join(threads[number], NULL);
    printf("%ld\n", sum);
    return 0;
}
