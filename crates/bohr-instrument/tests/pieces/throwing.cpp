// Exceptions, virtual tables, constructors with two names and guards, in pieces.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
struct Shape {
    virtual ~Shape() = default;
    virtual int area() const = 0;
};
struct Square : Shape {
    int side;
    explicit Square(int side) : side(side) {}
    int area() const override {
        if (side > 3) throw std::runtime_error("too large: " + std::to_string(side));
        return side * side;
    }
};
struct Virtual : virtual Square {
    explicit Virtual(int side) : Square(side) {}
    int area() const override { return -Square::area(); }
};
template <class T> T &once() {
    static T value(2);
    return value;
}
std::string log_text("started");
} // namespace

int main() {
    std::vector<Shape *> shapes{new Square(1), new Virtual(2), &once<Square>(), new Square(9)};
    int sum = 0;
    try {
        for (auto *shape : shapes) sum += shape->area();
    } catch (const std::exception &error) {
        std::printf("%s %d %s\n", error.what(), sum, log_text.c_str());
    }
}
