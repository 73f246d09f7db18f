// Optimised code that keeps none of its parameters; only its callers know them.
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static void fail(int number, int other) {
    printf("%d %d\n", number, other);
    abort();
}

__attribute__((noinline)) static void middle(int number) {
    fail(number + 1, 7);
    printf("done\n");
}

int main(void) {
    middle(41);
    printf("done\n");
}
