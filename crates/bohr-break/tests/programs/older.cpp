// The C++ header where returning a guard moves it.
#include "bohr_break.hpp"
#include <cassert>
#include <thread>

int main() {
    bohr_break_arm();
    int object = 0, seen = 0;
    bohr::Options patient;
    patient.pause = std::chrono::milliseconds(60000);
    std::thread other([&] {
        auto turn = bohr::second("older", object, patient);
        assert(turn.hit());
        seen = object;
    });
    {
        auto turn = bohr::first("older", object, patient);
        assert(turn.hit());
        object = 7;
    }
    other.join();
    assert(seen == 7);
}
