// flags: -O1 -g -fno-inline
#include <stdio.h>
#include <stdlib.h>

static int count;

static int compare(const void *a, const void *b) { count++; return *(const int *)a - *(const int *)b; } //~ SingleThreaded

int main(int argc, char **argv) {
    int *numbers = malloc(sizeof(int) * (argc + 2));
    for (int i = 0; i < argc; i++) numbers[i] = atoi(argv[i]); //~ SingleThreaded
    qsort(numbers, argc, sizeof *numbers, compare);
    printf("%d %d\n", numbers[0], count); //~ SingleThreaded
    free(numbers);
    return 0;
}
