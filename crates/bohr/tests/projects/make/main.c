#include <pthread.h>
#include <stdio.h>

void tally(int n);
int total(void);
void spin(void);

static void *work(void *argument) {
    (void)argument;
    spin();
    tally(20);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("%d\n", total());
    return 0;
}
