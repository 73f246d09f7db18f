// Asks for blocks of so many GiB, one after the other, and says which it got.
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        char *volatile block = malloc(strtoul(argv[i], NULL, 10) << 30);
        puts(block ? "got" : "refused");
        free(block);
    }
    return 0;
}
