// Asks the processor for the time, which nobody controls: as a number that is
// printed, or as the way that a thread takes.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static unsigned long long seen;
static int odd;

static void *look(void *argument) {
    seen = __builtin_ia32_rdtsc();
    if (strcmp(argument, "turn") == 0 && (seen >> 4) % 2) odd++;
    return argument;
}

int main(int count, char **words) {
    const char *way = count > 1 ? words[1] : "";
    pthread_t threads[2];
    for (int each = 0; each < 2; each++) pthread_create(&threads[each], NULL, look, (void *)way);
    for (int each = 0; each < 2; each++) pthread_join(threads[each], NULL);
    if (strcmp(way, "print") == 0) printf("always\n%llu\n", seen);
    return 0;
}
