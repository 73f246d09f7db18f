// Prints random numbers in the way of C++.
#include <cstdio>
#include <random>
#include <thread>

static void look() {
    std::random_device device;
    unsigned first = device(), second = device();
    std::printf("%u %u\n", first, second);
}

int main() {
    look();
    std::thread one(look), two(look);
    one.join();
    two.join();
}
