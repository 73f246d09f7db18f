// Executes litmus tests: litmus BASE PROGRAM..., one program a thread. A program
// is a hexadecimal number whose bytes, the lowest first, are its operations: what
// to do in the upper four bits, then two for the variable and two for the value.
//
// The operations of a thread lie in a register, and what it reads does too, so that
// nothing but the litmus test itself is an event. The exit code is 1 plus the number
// that all values read, thread by thread, and then the variables make in this base.

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { VARIABLES = 2, MOST_THREADS = 4 };

enum operation {
    STORE = 1,
    STORE_RELEASE,
    STORE_SEQUENTIAL,
    LOAD,
    FENCE,
    FENCE_RELEASE,
    EXCHANGE,
};

static atomic_int variables[VARIABLES];
static uintptr_t base;

static void *execute(void *argument)
{
    uintptr_t program = (uintptr_t)argument;
    uintptr_t seen = 0, weight = 1, values = base;
    for (; program; program >>= 8) {
        int value = program & 3;
        atomic_int *variable = &variables[program >> 2 & 3];
        switch (program >> 4 & 15) {
        case STORE:
            atomic_store_explicit(variable, value, memory_order_relaxed);
            break;
        case STORE_RELEASE:
            atomic_store_explicit(variable, value, memory_order_release);
            break;
        case STORE_SEQUENTIAL:
            atomic_store_explicit(variable, value, memory_order_seq_cst);
            break;
        case LOAD:
            seen += weight * (uintptr_t)atomic_load_explicit(variable, memory_order_relaxed);
            weight *= values;
            break;
        case FENCE:
            atomic_thread_fence(memory_order_seq_cst);
            break;
        case FENCE_RELEASE:
            atomic_thread_fence(memory_order_release);
            break;
        case EXCHANGE:
            seen += weight * (uintptr_t)atomic_exchange_explicit(variable, value, memory_order_acq_rel);
            weight *= values;
            break;
        }
    }
    return (void *)(seen | weight << 32);
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST_THREADS];
    int count = argc - 2;
    base = strtoul(argv[1], NULL, 10);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, execute, (void *)strtoul(argv[2 + i], NULL, 16));
    uintptr_t outcome = 0, weight = 1;
    for (int i = 0; i < count; i++) {
        void *result;
        pthread_join(threads[i], &result);
        outcome += weight * ((uintptr_t)result & UINT32_MAX);
        weight *= (uintptr_t)result >> 32;
    }
    for (int i = 0; i < VARIABLES; i++, weight *= base)
        outcome += weight * (uintptr_t)atomic_load(&variables[i]);
    return 1 + (int)outcome;
}
