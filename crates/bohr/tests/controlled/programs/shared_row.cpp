// A block that a library allocates for the program before there are threads; one of them
// lets it go while the other one looks at it.
#include <memory>
#include <thread>

static std::unique_ptr<int> row;

int main() {
    row = std::make_unique<int>(7); // marker: made
    std::thread user([] {
        int *mine = row.get();
        if (mine) ++*mine; // marker: used
    });
    std::thread owner([] {
        row.reset(); // marker: freed
    });
    user.join();
    owner.join();
}
