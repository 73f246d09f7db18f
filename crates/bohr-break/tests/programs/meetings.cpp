// The C++ header, with breakpoints that the other file's C code shares.
#include "bohr_break.hpp"
#include <atomic>
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

extern "C" void pass_second(const void *object);

static const bohr::Options patient = {.pause = std::chrono::milliseconds(60000)};
static const bohr::Options hasty = {.pause = std::chrono::milliseconds(5)};

static std::mutex left, right, lock;
static std::string done;

static void note(const char *name) {
    std::lock_guard<std::mutex> guard(lock);
    done += name;
}

extern "C" void note_second() { note("2"); }

int main() {
    bohr_break_arm();
    int object = 0;
    for (int round = 0; round < 20; round++) {
        done.clear();
        std::thread other([&] { pass_second(&object); });
        {
            auto turn = bohr::first("shared", object, patient);
            assert(turn.hit());
            note("1");
        }
        other.join();
        assert(done == "12");
    }
    auto older = [](int one, int other) { return one < other; };
    std::thread young([&] { assert(bohr::second("older", 2, older, patient).hit()); });
    assert(bohr::first("older", 1, older, patient).hit());
    young.join();
    static std::atomic<bool> thrown{false};
    auto broken = [](int, int) -> bool {
        thrown = true;
        throw std::runtime_error("as it is meant to");
    };
    // On a busy machine the one may be gone before the other comes.
    while (!thrown) {
        std::thread second([&] { assert(!bohr::second("broken", 2, broken, hasty).hit()); });
        assert(!bohr::first("broken", 1, broken, hasty).hit());
        second.join();
    }
    std::thread inverted([&] {
        std::lock_guard<std::mutex> held(right);
        assert(bohr::crossed(1, "inversion", right, left, patient).hit());
    });
    {
        std::lock_guard<std::mutex> held(left);
        assert(bohr::crossed(0, "inversion", left, right, patient).hit());
    }
    inverted.join();
    done.clear();
    std::thread waiter([&] {
        auto turn = bohr::waits("unheard", object, patient);
        note("w");
    });
    {
        auto turn = bohr::notifies("unheard", object, patient);
        note("n");
    }
    waiter.join();
    assert(done == "nw");
    {
        bohr::Options held = hasty;
        held.holding = lock.native_handle();
        assert(!bohr::reach(0, "held", &object, held));
        // Whoever is the only thread is not held up.
        std::thread other([&] {
            std::lock_guard<std::mutex> guard(lock);
            assert(!bohr::reach(0, "held", &object, held));
        });
        other.join();
        bohr::artefact("held");
    }
    {
        bohr::Scope scope("repaint");
        bohr::Options inside = hasty;
        inside.within = "repaint";
        assert(!bohr::first("scoped", object, inside).hit());
    }
    {
        // In the order in which they were created, however they come.
        std::thread older([] {
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
            assert(bohr::which("alike", 2, std::chrono::seconds(10)) == 1);
        });
        std::thread younger([] { assert(bohr::which("alike", 2, std::chrono::seconds(10)) == 2); });
        older.join();
        younger.join();
    }
}
