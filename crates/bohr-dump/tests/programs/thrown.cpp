// An exception out of a thread, through templates and inlined functions.
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Base {
    virtual ~Base() = default;
    int base = 3;
};

struct Derived : Base {
    std::string name = "derived";
    std::vector<int> values{1, 2, 3};
};

template <class T> int work(const T &thing, std::map<std::string, int> &map) {
    map["x"] = thing.base;
    throw std::runtime_error("out of range");
}

int main() {
    Derived derived;
    std::map<std::string, int> map;
    std::thread thread([&] { return work(derived, map); });
    thread.join();
}
