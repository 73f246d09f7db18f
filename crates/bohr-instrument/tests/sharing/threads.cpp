// flags: -O1 -g -fno-inline -std=c++20
#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

struct Shape { //~ shared
    virtual ~Shape() = default;
    virtual int area() const = 0;
};
struct Square : Shape {
    int side;
    explicit Square(int side) : side(side) {} //~ shared
    int area() const override { return side * side; } //~ shared
};

static std::atomic<int> counter;
static int plain;

static int local_sum(int n) {
    std::vector<int> numbers;
    for (int i = 0; i < n; i++) numbers.push_back(i);
    int sum = 0;
    for (int number : numbers) sum += number; //~ Heap Stack
    return sum;
}

static int checked(int n) {
    if (n > 100) throw std::runtime_error("too many");
    return n + 1;
}

int main(int count, char **) {
    int captured = count; //~ shared
    int own = 0; //~ nothing
    std::thread worker([&captured] {
        counter.fetch_add(1); //~ nothing
        plain += local_sum(captured); //~ shared
        captured++; //~ shared
    });
    std::unique_ptr<Shape> shape = std::make_unique<Square>(count);
    try {
        own = checked(shape->area()); //~ shared
    } catch (const std::exception &) {
        own = 1; //~ nothing
    }
    worker.join();
    return captured + own + plain + counter.load(); //~ shared
}
