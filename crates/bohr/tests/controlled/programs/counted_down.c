/* Crashes in the seventh of many calls. Nothing in the loop needs its variable, so
   compilers like to count down instead. */
#include <stdlib.h>

static int value;
static int *volatile box = &value;
static volatile int left = 7;

__attribute__((noinline)) static void use(void)
{
    if (--left == 0)
        box = NULL;
    *box += 1;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    for (int round = 0; round < rounds; round++)
        use();
    return 0;
}
