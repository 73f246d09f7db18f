// A mailing list kept in a synchronised array. Every method holds the lock
// while it runs. Several hundred people sign up at once, many of them through
// a household address that others have used already.
//
//     array-list [people] [sign-ups per person]

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

class ArrayList {
public:
    void add(int value) {
        std::lock_guard guard(lock);
        values.push_back(value); // marker: value-added
    }

    bool contains(int value) {
        std::lock_guard guard(lock);
        for (int present : values)
            if (present == value)
                return true; // marker: value-found
        return false;
    }

    void addIfAbsent(int value) {
        std::lock_guard guard(lock);
        for (int present : values)
            if (present == value)
                return;
        values.push_back(value);
    }

    size_t size() {
        std::lock_guard guard(lock);
        return values.size();
    }

    bool hasDuplicates() {
        std::lock_guard guard(lock);
        std::vector<int> sorted = values;
        std::sort(sorted.begin(), sorted.end());
        return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    }

private:
    std::mutex lock;
    std::vector<int> values;
};

static void signUp(ArrayList &addresses, int household) {
#ifdef FIXED
    addresses.addIfAbsent(household);
#else
    if (!addresses.contains(household)) // marker: absent-checked
        addresses.add(household);       // marker: absent-added
#endif
}

int main(int argc, char **argv) {
    const int people = argc > 1 ? std::atoi(argv[1]) : 450;
    const int signUps = argc > 2 ? std::atoi(argv[2]) : 1;
    const int households = people / 5 + 1;

    ArrayList addresses;
    std::vector<std::thread> threads;
    for (int person = 0; person < people; person++)
        threads.emplace_back([&addresses, person, households, signUps] {
            for (int i = 0; i < signUps; i++)
                signUp(addresses, person % households);
        });
    for (std::thread &thread : threads)
        thread.join();

    assert(!addresses.hasDuplicates()); // marker: no-duplicates
    std::printf("%d people signed up %zu addresses\n", people, addresses.size());
}
