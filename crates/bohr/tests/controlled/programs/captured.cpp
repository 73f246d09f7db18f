/* Two closures add to a variable that they have captured by reference. */
#include <cassert>
#include <thread>

int main() {
    int total = 0;
    std::thread one([&] { total += 1; });
    std::thread two([&] { total += 2; });
    one.join();
    two.join();
    assert(total == 3);
}
