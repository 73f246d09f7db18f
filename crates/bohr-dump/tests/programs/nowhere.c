// Calls a function that is not there.
struct operations {
    int (*read)(int);
};

__attribute__((noinline)) static int ask(const struct operations *operations, int number) {
    return operations->read(number) + 1;
}

int main(void) {
    struct operations operations = {0};
    return ask(&operations, 3) + 1;
}
