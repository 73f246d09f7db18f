// Prints what two threads do in the order in which they do it, reads its input,
// and ends with the number of its arguments.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *speak(void *word) {
    pthread_mutex_lock(&lock);
    printf("%s\n", (const char *)word);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int count, char **arguments) {
    char input[64] = "";
    if (fgets(input, sizeof input, stdin))
        printf("%s", input);
    fflush(stdout);
    pthread_t first, second;
    pthread_create(&first, NULL, speak, "one");
    pthread_create(&second, NULL, speak, "two");
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return arguments[0] ? count - 1 : 99;
}
