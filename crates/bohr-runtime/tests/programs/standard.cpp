// The C++ standard library's threads.
#include <atomic>
#include <barrier>
#include <cassert>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static std::condition_variable changed;
static int turn, destroyed;

struct Counted {
    ~Counted() { std::lock_guard guard(lock); destroyed++; }
};
static thread_local Counted counted;

static int thrower(int depth) {
    std::string text(depth + 1, 'x');
    if (depth == 0) {
        std::this_thread::yield();
        throw std::runtime_error("from below");
    }
    return thrower(depth - 1) + (int)text.size();
}

static void unwinding() {
    auto work = [] {
        (void)&counted;
        for (int i = 0; i < 3; i++) {
            try {
                thrower(5);
                assert(false);
            } catch (const std::runtime_error &error) {
                std::this_thread::yield();
                assert(error.what() == std::string("from below"));
            }
        }
    };
    std::thread one(work), other(work);
    one.join();
    other.join();
    assert(destroyed == 2);
}

static void futures() {
    auto sum = std::async(std::launch::async, [] { return 40 + 2; });
    std::promise<int> promise;
    auto answer = promise.get_future();
    std::thread thread([&] { promise.set_exception(std::make_exception_ptr(7)); });
    try {
        answer.get();
        assert(false);
    } catch (int value) {
        assert(value == 7);
    }
    thread.join();
    assert(sum.get() == 42);
    auto failing = std::async(std::launch::async, []() -> int { throw 5; });
    try {
        failing.get();
        assert(false);
    } catch (int value) {
        assert(value == 5);
    }
}

static void waiting() {
    std::vector<std::jthread> threads;
    for (int self = 0; self < 3; self++)
        threads.emplace_back([self] {
            std::unique_lock guard(lock);
            changed.wait(guard, [self] { return turn == self; });
            turn++;
            changed.notify_all();
        });
    threads.clear();
    assert(turn == 3);
    std::unique_lock guard(lock);
    auto before = std::chrono::steady_clock::now();
    assert(changed.wait_for(guard, std::chrono::hours(2)) == std::cv_status::timeout);
    assert(std::chrono::steady_clock::now() - before >= std::chrono::hours(2));
}

static void once() {
    std::once_flag flag;
    int attempts = 0, done = 0;
    auto work = [&] {
        try {
            std::call_once(flag, [&] {
                if (attempts++ == 0)
                    throw 1;
                done++;
            });
        } catch (int) {
        }
    };
    std::thread one(work), other(work), third(work);
    one.join();
    other.join();
    third.join();
    assert(attempts == 2 && done == 1);
}

static void newer() {
    std::latch latch(2);
    std::barrier barrier(2);
    std::counting_semaphore<4> permits(1);
    std::shared_mutex shared;
    std::atomic<int> word{0};
    std::thread thread([&] {
        latch.arrive_and_wait();
        barrier.arrive_and_wait();
        permits.acquire();
        permits.release();
        { std::shared_lock guard(shared); }
        word.store(1);
        word.notify_all();
    });
    latch.arrive_and_wait();
    barrier.arrive_and_wait();
    { std::unique_lock guard(shared); }
    word.wait(0);
    thread.join();
    assert(word == 1);
}

int main() {
    unwinding();
    futures();
    waiting();
    once();
    newer();
}
