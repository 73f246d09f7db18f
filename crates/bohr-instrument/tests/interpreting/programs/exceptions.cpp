// Virtual functions, templates, destructors, and exceptions of every kind.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

struct Base {
    virtual int number() const { return 1; }
    virtual ~Base() { std::puts("~Base"); }
};

struct Other {
    int padding = 3;
    virtual ~Other() {}
};

struct Derived : Other, Base {
    int number() const override { return 2; }
    ~Derived() { std::puts("~Derived"); }
};

struct Failure : Other, Base {
    int code;
    explicit Failure(int code) : code(code) {}
    int number() const override { return code; }
};

struct Guard {
    const char *name;
    ~Guard() { std::printf("guard %s\n", name); }
};

static int thrower(int n) {
    Guard guard{"thrower"};
    if (n == 1) throw 42;
    if (n == 2) throw Failure(7);
    if (n == 3) throw "text";
    return n;
}

static int attempt(int n) {
    try {
        Guard guard{"attempt"};
        return thrower(n);
    } catch (int thrown) {
        std::printf("int %d\n", thrown);
        return -1;
    } catch (const Base &thrown) {
        std::printf("base %d\n", thrown.number());
        return -2;
    } catch (...) {
        std::puts("other");
        try {
            throw;
        } catch (...) {
            std::puts("again");
        }
        return -3;
    }
}

static Guard global{"global"};

int main() {
    std::unique_ptr<Base> owned = std::make_unique<Derived>();
    std::printf("%d\n", owned->number());
    std::vector<int> numbers;
    for (int i = 0; i < 10; ++i) numbers.push_back(i * 7 % 10);
    std::sort(numbers.begin(), numbers.end());
    for (int number : numbers) std::printf("%d ", number);
    std::puts("");
    for (int i = 0; i < 4; ++i) std::printf("-> %d\n", attempt(i));
    Derived derived;
    Base *base = &derived;
    std::printf("%d\n", dynamic_cast<Other *>(base)->padding);
    return 3;
}
