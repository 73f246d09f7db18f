// The same library in C++: the counter is an object, and inline functions of it are in
// the program, too.
#include "tally.h"
#include <memory>
#include <vector>

namespace {

struct Tally {
    std::vector<int> counts = {0};

    void add(int amount) {
        int seen = counts[0]; // marker: looks
        counts[0] = seen + amount; // marker: puts
    }
};

Tally &tally() {
    static auto only = std::make_unique<Tally>();
    return *only;
}

} // namespace

extern "C" void tally_add(int amount) { tally().add(amount); }
extern "C" int tally_total() { return tally().counts[0]; }
