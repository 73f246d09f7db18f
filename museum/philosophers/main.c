// The dining philosophers. Each picks up the fork on the left, then the fork
// on the right, eats, and puts both down.
//
//     philosophers [philosophers] [meals]

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct fork {
    pthread_mutex_t taken;
    long used;
};

struct seat {
    struct fork *first;
    struct fork *second;
};

static long meals;

static void *dine(void *argument)
{
    struct seat *seat = argument;
    for (long meal = 0; meal < meals; meal++) {
        pthread_mutex_lock(&seat->first->taken);  // marker: first-fork
        pthread_mutex_lock(&seat->second->taken); // marker: second-fork
        seat->first->used++;
        seat->second->used++;
        pthread_mutex_unlock(&seat->second->taken);
        pthread_mutex_unlock(&seat->first->taken);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long philosophers = argc > 1 ? atol(argv[1]) : 5;
    meals = argc > 2 ? atol(argv[2]) : 2;
    if (philosophers < 2) {
        fprintf(stderr, "one philosopher alone has but one fork\n");
        return 2;
    }

    struct fork forks[philosophers];
    struct seat seats[philosophers];
    for (long i = 0; i < philosophers; i++) {
        pthread_mutex_init(&forks[i].taken, NULL);
        forks[i].used = 0;
        seats[i] = (struct seat){&forks[i], &forks[(i + 1) % philosophers]};
    }
#ifdef FIXED
    // One left-handed philosopher, and the ring is no cycle any more.
    struct seat *last = &seats[philosophers - 1];
    *last = (struct seat){last->second, last->first};
#endif

    pthread_t threads[philosophers];
    for (long i = 0; i < philosophers; i++)
        pthread_create(&threads[i], NULL, dine, &seats[i]);
    for (long i = 0; i < philosophers; i++)
        pthread_join(threads[i], NULL);
    printf("%ld philosophers ate %ld times\n", philosophers, meals);
}
