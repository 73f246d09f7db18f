// Options in braces, at every kind of side; compiled in or not.
#include "bohr_break.hpp"
#include <chrono>
#include <cstdio>
#include <thread>

using std::chrono::milliseconds;

int main() {
    int object = 0;
    auto older = [](int one, int other) { return one < other; };
    int hits = 0;
    std::thread other([&] {
        hits += bohr::second("conflict", object, {.pause = milliseconds(60000)}).hit();
        hits += bohr::second("older", 2, older, {.pause = milliseconds(60000)}).hit();
        hits += bohr::waits("unheard", object, {.pause = milliseconds(60000)}).hit();
        hits += bohr::side(1, "plain", object, {.pause = milliseconds(60000)}).hit();
        hits += bohr::crossed(1, "locks", hits, object, {.pause = milliseconds(60000)}).hit();
    });
    int others = 0;
    others += bohr::first("conflict", object, {.pause = milliseconds(60000)}).hit();
    others += bohr::first("older", 1, older, {.pause = milliseconds(60000)}).hit();
    others += bohr::notifies("unheard", object, {.pause = milliseconds(60000)}).hit();
    others += bohr::side(0, "plain", object, {.pause = milliseconds(60000)}).hit();
    others += bohr::crossed(0, "locks", object, hits, {.pause = milliseconds(60000)}).hit();
    other.join();
    std::printf("%d\n", hits + others);
}
