// Exceptions through frames with and without destructors, through the C library,
// caught by type or not; prints how often each function was entered.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

static int called[3];
#define COUNT(which) __atomic_fetch_add(&called[which], 1, __ATOMIC_RELAXED)

struct Guard {
    std::string text;
    explicit Guard(int n) : text(n % 50 + 20, 'x') {}
    ~Guard() { COUNT(0); }
};

[[gnu::noinline]] int dive(int depth, int kind) {
    COUNT(1);
    Guard guard(depth);
    if (depth == 0) {
        if (kind == 0) throw 7;
        if (kind == 1) throw std::string("no");
        return 1;
    }
    try {
        return dive(depth - 1, kind) + 1;
    } catch (const std::string &) {
        return depth;
    }
}

[[gnu::noinline]] int compare(const void *left, const void *) {
    COUNT(2);
    if (*(const int *)left == 13) throw 3;
    return -1;
}

static void work() {
    for (int i = 0; i < 20; i++) {
        try {
            dive(i % 4, i % 3);
        } catch (...) {
        }
    }
}

int main() {
    std::thread one(work), two(work);
    one.join();
    two.join();
    int numbers[] = {5, 4, 13, 2};
    try {
        std::qsort(numbers, 4, sizeof *numbers, compare);
    } catch (int) {
    }
    work();
    std::printf("%d %d %d\n", called[0], called[1], called[2]);
}
