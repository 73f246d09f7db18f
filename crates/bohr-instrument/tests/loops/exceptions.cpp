// flags: -O1 -g -fno-inline -fno-unroll-loops
struct Guard { Guard(); ~Guard(); };
extern int use(int);

void throwing(int n) {
    for (int i = 0; i < n; i++) {
        Guard guard;
        use(i); //~ depth 1; counts by Constant(1), compared after the change; skips with the test Last, 2 again, 0 of 1 phis kept, 0 after
    }
}

void caught(int n) {
    for (int i = 0; i < n; i++) {
        try {
            use(i); //~ depth 1; counts by Constant(1), compared after the change; skips with the test Last, 2 again, 0 of 1 phis kept, 0 after
        } catch (int) {
            return;
        }
    }
}

int main(int argc, char **) {
    throwing(argc);
    caught(argc);
}
