// A test of determinism: threads mix a shared matrix with as many races as
// they can, so that nearly every order of accesses leaves its own signature.
// A few of the signatures are forbidden.
//
//     racey [threads] [rounds]

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 64, FORBIDDEN = 61 };

static volatile unsigned shared_matrix[CELLS];
static long rounds;

static unsigned mix(unsigned left, unsigned right)
{
    unsigned mixed = left * 2654435761u + right;
    return mixed ^ mixed >> 15;
}

static void fill(volatile unsigned *matrix)
{
    for (unsigned cell = 0; cell < CELLS; cell++)
        matrix[cell] = cell + 1;
}

static void stir(volatile unsigned *matrix, unsigned seed)
{
    unsigned place = seed;
    for (long round = 0; round < rounds; round++) {
        unsigned from = place % CELLS;
        unsigned to = (place >> 8) % CELLS;
        unsigned mixed = mix(matrix[from], matrix[to]); // marker: cell-read
        matrix[to] = mixed;                             // marker: cell-written
        place = mix(place, mixed);
    }
}

static unsigned sign(const volatile unsigned *matrix)
{
    unsigned signature = 0;
    for (unsigned cell = 0; cell < CELLS; cell++)
        signature = mix(signature, matrix[cell]);
    return signature;
}

static void *race(void *argument)
{
    unsigned *share = argument;
#ifdef FIXED
    volatile unsigned own_matrix[CELLS];
    fill(own_matrix);
    stir(own_matrix, *share);
    *share = sign(own_matrix);
#else
    stir(shared_matrix, *share);
    *share = 0;
#endif
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 2;
    rounds = argc > 2 ? atol(argv[2]) : 40;

    fill(shared_matrix);
    pthread_t racers[threads];
    unsigned shares[threads];
    for (long i = 0; i < threads; i++) {
        shares[i] = 77u * (unsigned)(i + 1);
        pthread_create(&racers[i], NULL, race, &shares[i]);
    }
    unsigned signature = 0;
    for (long i = 0; i < threads; i++) {
        pthread_join(racers[i], NULL);
        signature ^= shares[i];
    }
    signature ^= sign(shared_matrix);
    assert(signature % FORBIDDEN != 0); // marker: signature-allowed
    printf("signature %08x\n", signature);
}
