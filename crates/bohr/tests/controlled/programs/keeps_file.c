// Writes a file of a fixed name and reads it again: two runs at once would meet in it.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { LINES = 100 };

static void *idle(void *unused) {
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, idle, NULL);
    FILE *file = fopen("kept.tmp", "w");
    assert(file);
    for (int line = 0; line < LINES; line++) fprintf(file, "%d\n", line);
    fclose(file);
    pthread_join(thread, NULL);
    file = fopen("kept.tmp", "r");
    assert(file);
    int read = 0, number;
    while (fscanf(file, "%d", &number) == 1) assert(number == read++);
    assert(read == LINES);
    fclose(file);
    unlink("kept.tmp");
    return 0;
}
