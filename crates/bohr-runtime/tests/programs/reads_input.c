// Reads its input to the end.
#include <stdio.h>

int main(void) {
    int number;
    if (scanf("%d", &number) != 1)
        return 1;
    printf("read %d\n", number);
    return getchar() == EOF ? 0 : 2;
}
