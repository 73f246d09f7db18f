// A secret on a page that nobody may write any more.
#include <stdlib.h>
#include <sys/mman.h>

int main(void) {
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const char *shifted = "tftbnf-po-b-qbhf";
    for (int letter = 0; shifted[letter]; letter++) page[letter] = shifted[letter] - 1;
    for (int letter = 0; page[letter]; letter++)
        if (page[letter] == ',') page[letter] = '-';
    mprotect(page, 4096, PROT_READ);
    abort();
}
