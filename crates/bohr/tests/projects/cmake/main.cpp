#include <future>
#include <iostream>

int own_item();
extern "C" int shared_item(void);

int main() {
    auto half = std::async(std::launch::async, own_item);
    std::cout << half.get() * 2 - shared_item() + 1 << "\n";
}
