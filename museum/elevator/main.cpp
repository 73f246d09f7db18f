// A building with several lifts. Lifts sweep the floors and take every call
// that nobody has answered yet; each call wants exactly one lift.
//
//     elevator [lifts] [calls]

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

class Floor {
public:
    bool isWaiting() {
        std::lock_guard guard(lock);
        return waiting;
    }

    void board() {
        std::lock_guard guard(lock);
        waiting = false; // marker: call-cleared
        boarded++;
    }

    bool boardIfWaiting() {
        std::lock_guard guard(lock);
        if (!waiting)
            return false;
        waiting = false;
        boarded++;
        return true;
    }

    int timesBoarded() {
        std::lock_guard guard(lock);
        return boarded;
    }

private:
    std::mutex lock;
    bool waiting = true;
    int boarded = 0;
};

static int sweep(std::vector<Floor> &floors, size_t start) {
    int carried = 0;
    for (size_t i = 0; i < floors.size(); i++) {
        Floor &floor = floors[(start + i) % floors.size()];
#ifdef FIXED
        if (floor.boardIfWaiting())
            carried++;
#else
        if (floor.isWaiting()) { // marker: call-seen
            floor.board();
            carried++;
        }
#endif
    }
    return carried;
}

int main(int argc, char **argv) {
    const int lifts = argc > 1 ? std::atoi(argv[1]) : 3;
    const int calls = argc > 2 ? std::atoi(argv[2]) : 20;

    std::vector<Floor> floors(calls);
    std::vector<int> carried(lifts);
    std::vector<std::thread> threads;
    for (int lift = 0; lift < lifts; lift++)
        threads.emplace_back([&, lift] { carried[lift] = sweep(floors, lift * calls / lifts); });
    for (std::thread &thread : threads)
        thread.join();

    for (Floor &floor : floors)
        assert(floor.timesBoarded() == 1); // marker: boarded-once
    for (int lift = 0; lift < lifts; lift++)
        std::printf("lift %d answered %d calls\n", lift, carried[lift]);
}
