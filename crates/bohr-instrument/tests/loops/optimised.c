// flags: -O2 -g -fno-inline -fno-unroll-loops
#include <stdlib.h>

struct list { struct list *next; int value; };
extern int use(int);
extern struct list *advance(struct list *);

void counted(int n) {
    for (int i = 0; i < n; i++) //~ depth 1; counts by Constant(1), compared after the change; skips with the test Last, 2 again, 0 of 1 phis kept, 0 after
        use(i);
}

int accumulated(const int *numbers, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) //~ depth 1; counts by Constant(1), compared after the change; skips with the test Last, 2 again, 1 of 2 phis kept, 1 after
        sum += numbers[i] ^ use(sum);
    return sum;
}

void downwards(unsigned n) {
    do {
        use((int)n);
    } while (--n != 0); //~ depth 1; counts by Constant(-1), compared after the change; skips with the test Last, 2 again, 0 of 1 phis kept, 0 after
}

void with_break(int n) {
    for (int i = 0; i < n; i++) {
        if (use(i) == 3) //~ depth 1; does not count: the end in b1 is not decided by comparing numbers; cannot skip: the condition needs what i3 computes in the iteration
            break;
    }
}

void with_abort(int n) {
    for (int i = 0; i < n; i += 2) {
        if (use(i) == 3) //~ depth 1; counts by Constant(2), compared after the change; skips with the test Last, 2 again, 0 of 1 phis kept, 0 after
            abort();
    }
}

void linked(struct list *list) {
    for (; list; list = list->next) //~ depth 1; does not count: nothing compared in b1 changes once per iteration by one step; cannot skip: nothing that the condition depends on advances by itself
        use(list->value);
}

void called(struct list *list) {
    while (list) //~ depth 1; does not count: nothing compared in b1 changes once per iteration by one step; cannot skip: the condition needs what i3 computes in the iteration
        list = advance(list);
}

void endless(void) {
    for (;;) //~ depth 1; does not count: has no end; cannot skip: has no end
        use(0);
}

void changed_twice(int n) {
    for (int i = 0; i < n; i++) { //~ depth 1; does not count: nothing compared in b2 changes once per iteration by one step; cannot skip: the condition needs what i4 computes in the iteration
        if (use(i))
            i += 2;
    }
}

void pointers(const int *from, const int *to) {
    for (; from != to; from++) //~ depth 1; counts by Constant(4), compared after the change; skips with the test Last, 2 again, 0 of 1 phis kept, 0 after
        use(*from);
}

void nested(int n, int m) {
    for (int i = 0; i < n; i++) //~ depth 1; counts by Constant(1), compared after the change; skips with the test Last, 2 again, 0 of 1 phis kept, 0 after
        for (int j = 0; j < m; j++) //~ depth 2; counts by Constant(1), compared after the change; skips with the test Last, 2 again, 0 of 1 phis kept, 0 after
            use(i * j);
}

int last(int n) {
    int result = 0;
    for (int i = 0; i < n; i++) //~ depth 1; counts by Constant(1), compared after the change; cannot skip: code after the loop uses what i5 computes in the iteration
        result = use(i);
    return result;
}

int input_driven(void) {
    int total = 0, c;
    while ((c = use(total)) != -1) //~ depth 1; does not count: nothing compared in b1 changes once per iteration by one step; cannot skip: the condition needs what i2 computes in the iteration
        total += c;
    return total;
}

int main(int argc, char **argv) {
    counted(argc); downwards(argc); with_break(argc); with_abort(argc);
    linked(0); called(0); changed_twice(argc); nested(argc, 2); pointers(0, 0);
    return accumulated(0, argc) + last(argc) + input_driven() + (argc > 9 ? (endless(), 0) : 1);
}
