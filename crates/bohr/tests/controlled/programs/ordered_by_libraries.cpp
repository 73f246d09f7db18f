// Accesses that only the language's library orders: a static that is initialised
// at its first use, work that is done once, a future, a reader-writer lock; and
// stacks that threads get from detached threads which have ended.
#include <atomic>
#include <cstdio>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

struct Table {
    std::vector<int> entries;
    explicit Table(int count) : entries(count, 7) {}
};

static Table &table(int count) {
    static Table only(count);
    return only;
}

static std::once_flag once;
static int prepared;
static std::shared_mutex shared;
static int guarded;
static std::atomic<int> detached;

static void work(int number) {
    std::call_once(once, [] { prepared = 3; });
    int sum = table(number + 3).entries[number] + prepared;
    {
        std::shared_lock reading(shared);
        sum += guarded;
    }
    std::unique_lock writing(shared);
    guarded += sum;
}

// The local can be seen by others, so every access to it is noted.
static void on_a_used_stack() {
    int local = 1;
    local += std::printf("%p\n", (void *)&local) > 0;
    detached.fetch_add(local, std::memory_order_relaxed);
}

int main(int count, char **) {
    auto answer = std::async(std::launch::async, [count] { return std::vector<int>(5, count); });
    std::thread first(work, count - 1), second(work, count);
    for (int round = 0; round < 3; round++) {
        std::thread(on_a_used_stack).detach();
        while (detached.load(std::memory_order_relaxed) < 2 * (round + 1)) std::this_thread::yield();
    }
    first.join();
    second.join();
    return answer.get()[2] != count;
}
