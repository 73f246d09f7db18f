// What C has beside plain arithmetic: variable arguments, aggregates by value,
// bit-fields, unions, computed gotos, wide and odd numbers, the C library.
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct small { int a; char b; };
struct mixed { double d; long l; };
struct large { long values[7]; };
struct fields { unsigned a : 3; int b : 11; unsigned long c : 40; };
union bits { float number; uint32_t word; };
typedef int four __attribute__((vector_size(16)));

static double sum(const char *kinds, ...) {
    va_list list, copy;
    double total = 0;
    va_start(list, kinds);
    va_copy(copy, list);
    for (; *kinds; ++kinds) {
        switch (*kinds) {
        case 'i': total += va_arg(list, int); break;
        case 'l': total += va_arg(list, long); break;
        case 'd': total += va_arg(list, double); break;
        case 'D': total += (double)va_arg(list, long double); break;
        case 's': total += va_arg(list, struct small).a; break;
        case 'm': { struct mixed m = va_arg(list, struct mixed); total += m.d * m.l; break; }
        case 'L': total += va_arg(list, struct large).values[6]; break;
        }
    }
    total += va_arg(copy, int);
    va_end(list);
    va_end(copy);
    return total;
}

static void report(const char *format, ...) {
    char line[64];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    printf("%d:%s\n", length, line);
}

static int descending(const void *left, const void *right) {
    return *(const int *)right - *(const int *)left;
}

static int interpret(const char *code) {
    static const void *const labels[] = {&&add, &&twice, &&stop};
    int value = 1;
next:
    goto *labels[*code++ - '0'];
add: value += 5; goto next;
twice: value *= 2; goto next;
stop: return value;
}

static struct large shifted(struct large from, int by) {
    for (int i = 0; i < 7; ++i) from.values[i] <<= by;
    return from;
}

static void farewell(void) { puts("farewell"); }

int main(int argc, char **argv) {
    atexit(farewell);
    struct small small = {40, 'x'};
    struct mixed mixed = {0.5, 6};
    struct large large = {{1, 2, 3, 4, 5, 6, 7}};
    printf("%g\n", sum("iildDsmLiiiiii", 1, 2, 3L, 4.5, 5.25L, small, mixed, large, 1, 1, 1, 1, 1, 1));
    report("%5d|%-5d|%05d|%+d|%x|%#o|%s|%c|%.3s", 42, 42, 42, 42, 255, 8, "text", 'c', "abcdef");
    report("%ld %lu %hhd %zu %lld", -1L, ~0UL, 300, sizeof large, -5LL);
    report("%8.3f|%-10.2e|%g|%g|%.0f", 3.14159, 12345.678, 0.0001, 1e20, 2.5);
    printf("%ld %d\n", shifted(large, 3).values[6], interpret("010012"));

    struct fields fields = {5, -1000, 0xabcdef0123};
    fields.b += 7;
    printf("%u %d %lx\n", fields.a, fields.b, (unsigned long)fields.c);
    union bits pi = {.number = 3.14159f};
    printf("%08x\n", pi.word);

    unsigned __int128 wide = (unsigned __int128)0xfedcba9876543210 * 0x123456789abcdef;
    printf("%lx %lx %d\n", (unsigned long)(wide >> 64), (unsigned long)wide, (int)(wide % 1000003));
    long double extended = 1.0L / 3.0L;
    printf("%d %.6f\n", extended != (double)extended, (double)(extended * 3.0L));
    four vector = {1, -2, 3, -4};
    vector = vector * vector + (four){10, 20, 30, 40};
    printf("%d %d %d %d\n", vector[0], vector[1], vector[2], vector[3]);

    int numbers[] = {3, 9, 1, 7, 7, 2};
    qsort(numbers, 6, sizeof *numbers, descending);
    for (int i = 0; i < 6; ++i) printf("%d ", numbers[i]);
    int count = argc + 5, square[count];
    for (int i = 0; i < count; ++i) square[i] = i * i;
    printf("| %d\n", square[count - 1]);

    char *text = malloc(8);
    strcpy(text, "abc");
    text = realloc(text, 32);
    strcat(text, "-def");
    printf("%s %zu %s %d\n", text, strlen(text), strchr(text, '-'), memcmp(text, "abd", 3) < 0);
    free(text);
    printf("%.4f %.4f %.1f\n", sqrt(2.0), pow(1.5, 2.0), floor(-2.5));
    atomic_int shared = 5;
    int expected = 6;
    printf("%d %d", atomic_fetch_sub(&shared, 2), atomic_compare_exchange_strong(&shared, &expected, 9));
    printf(" %d %d %s\n", expected, atomic_load(&shared), argv[argc] ? "more" : "end");
    exit(250 + (int)strtol(" 7 apples", NULL, 10));
}
