// Two threads meet at latches, barriers, semaphores and locks; the count between them
// is guarded by a semaphore that lets both in.
#include <barrier>
#include <cassert>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <vector>

static int count, visits;
static std::mutex one, other;
static std::shared_mutex book;
static std::counting_semaphore<4> places(2);
static std::barrier<> lunch(2);
static std::latch morning(2);

static void add() {
    int seen = count;
    count = seen + 1;
}

static void work(bool backwards) {
    morning.arrive_and_wait();
    for (int day = 0; day < 2; day++) {
        if (backwards) {
            std::scoped_lock both(other, one);
            visits++;
        } else {
            std::scoped_lock both(one, other);
            visits++;
        }
        {
            std::shared_lock reads(book);
            (void)visits;
        }
        {
            std::unique_lock writes(book);
            visits++;
        }
        places.acquire();
        add();
        places.release();
        lunch.arrive_and_wait();
    }
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back(work, i == 0);
    for (auto &thread : threads)
        thread.join();
    assert(count == 4);
}
