#include <stdio.h>

int greet(int);

int main(void) {
    printf("%d\n", greet(41));
    return 0;
}
