// Two departments keep lists of customers, each in a synchronised list. Every
// evening each department adds the other one's list to its own.
//
//     synchronized-list [departments] [evenings]

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

class SynchronizedList {
public:
    void add(int value) {
        std::lock_guard guard(lock);
        values.push_back(value);
    }

    std::vector<int> toVector() {
        std::lock_guard guard(lock); // marker: source-locked
        return values;
    }

    void addAll(SynchronizedList &source) {
#ifdef FIXED
        const std::vector<int> more = source.toVector();
        std::lock_guard guard(lock);
#else
        std::lock_guard guard(lock); // marker: target-locked
        const std::vector<int> more = source.toVector();
#endif
        values.insert(values.end(), more.begin(), more.end());
        if (values.size() > LONGEST)
            values.resize(LONGEST);
    }

    size_t size() {
        std::lock_guard guard(lock);
        return values.size();
    }

private:
    static constexpr size_t LONGEST = 8;

    std::mutex lock;
    std::vector<int> values;
};

int main(int argc, char **argv) {
    const int departments = argc > 1 ? std::atoi(argv[1]) : 2;
    const int evenings = argc > 2 ? std::atoi(argv[2]) : 5;

    std::vector<SynchronizedList> lists(departments);
    for (int i = 0; i < departments; i++)
        lists[i].add(i);
    std::vector<std::thread> threads;
    for (int i = 0; i < departments; i++)
        threads.emplace_back([&lists, i, departments, evenings] {
            for (int evening = 0; evening < evenings; evening++)
                lists[i].addAll(lists[(i + 1) % departments]);
        });
    for (std::thread &thread : threads)
        thread.join();
    std::printf("%zu customers in the first list\n", lists.front().size());
}
