// What comes before main and after it, and before and after a thread's body, in
// the order that the language says.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static std::string story;

static void tell(const char *what) {
    std::lock_guard guard(lock);
    story += what;
    story += ' ';
}

struct Static {
    const char *name;
    explicit Static(const char *name) : name(name) { std::printf("+%s\n", name); }
    ~Static() { std::printf("-%s\n", name); }
};

static Static first("first"), second("second");

struct Local {
    const char *name;
    explicit Local(const char *name) : name(name) {}
    ~Local() { tell(name); }
};

static void body(bool throws) {
    thread_local Local outer("outer");
    thread_local Local inner("inner");
    (void)outer.name, (void)inner.name;
    try {
        Local unwound("unwound");
        if (throws) throw std::runtime_error("thrown");
        tell("quiet");
    } catch (const std::exception &) {
        tell("caught");
    }
}

int main(int count, char **) {
    std::atexit([] { std::puts("atexit one"); });
    std::atexit([] { std::puts("atexit two"); });
    for (bool throws : {false, true}) {
        story.clear();
        std::thread(body, throws).join();
        std::string wanted = throws ? "unwound caught inner outer " : "quiet unwound inner outer ";
        if (story != wanted) {
            std::puts(story.c_str());
            return 1;
        }
    }
    std::vector<std::thread> threads;
    for (int number = 0; number < 3; number++) threads.emplace_back(body, number % 2 == 0);
    for (std::thread &thread : threads) thread.join();
    if (count > 1) std::thread([] { throw std::runtime_error("nobody catches this"); }).join();
    return 0;
}
