// Everything that makes taking a program apart hard, in one file.
#include <stdio.h>
#include <string.h>

static int counter = 3;                      // local, used by several functions
static const char *names[] = {"one", "two"}; // data that points to data
static __thread int own = 5;
int common_value;
extern int weak_missing __attribute__((weak));

static int step(int by) { return counter += by; }
__attribute__((noinline)) static int twice(int by) { return step(by) + step(by); }
int visible(int by) { return twice(by) + own++; }
extern int other_name(int by) __attribute__((alias("visible")));
static int (*table[])(int) = {step, twice, visible, other_name};

// Places inside a function, held by a variable.
__attribute__((noinline)) static int jumps(int at) {
    static const void *const places[] = {&&a, &&b, &&c};
    goto *places[at % 3];
a:
    return 10;
b:
    return 20;
c:
    return 30;
}

// Defined by the module's assembly, without a global name.
__asm__("from_assembly:\n  movl $7, %eax\n  ret\n");
extern int from_assembly(void) __asm__("from_assembly");

// Named by assembly only.
__attribute__((used, noinline)) static int hidden_in_text(void) { return 11; }
__attribute__((noinline)) static int calls_by_text(void) {
    int result;
    __asm__ volatile("call hidden_in_text" : "=a"(result) : : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
    return result;
}

// Chosen when the program starts.
static int chosen_one(void) { return 13; }
static int (*choose(void))(void) { return chosen_one; }
int chosen(void) __attribute__((ifunc("choose")));

static char order[8];
__attribute__((constructor(101))) static void first(void) { strcat(order, "a"); }
__attribute__((constructor)) static void second(void) { strcat(order, "b"); }
__attribute__((constructor)) static void third(void) { strcat(order, "c"); }
__attribute__((destructor)) static void last(void) { puts("over"); }

__attribute__((noinline)) static int vary(int count, ...) {
    __builtin_va_list list;
    __builtin_va_start(list, count);
    int sum = 0;
    while (count--) sum += __builtin_va_arg(list, int);
    __builtin_va_end(list);
    return sum;
}

int main(int argc, char **argv) {
    (void)argv;
    int sum = 0;
    for (int i = 0; i < 4; i++) sum = sum * 7 + table[i](argc + i);
    printf("%d %s %s %d %d\n", sum, names[0], names[argc], own, common_value);
    printf("%d %d %d %d\n", jumps(argc), from_assembly(), calls_by_text(), chosen());
    printf("%s %d %d\n", order, vary(3, 1, 2, 3), &weak_missing == 0);
    return 0;
}
