// Two threads look something up and add it where it is missing; the lock is given
// back in between, and what looks it up is the library's code.
#include <cassert>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

struct Cache {
    std::map<std::string, int> entries;
    std::mutex lock;
    int misses = 0;

    int lookup(const std::string &key) {
        {
            std::lock_guard<std::mutex> guard(lock);
            auto entry = entries.find(key);
            if (entry != entries.end())
                return entry->second;
        }
        std::lock_guard<std::mutex> guard(lock);
        misses++;
        entries[key] = misses;
        return misses;
    }
};

int main() {
    auto cache = std::make_unique<Cache>();
    std::thread one([&] { cache->lookup("x"); });
    std::thread two([&] { cache->lookup("x"); });
    one.join();
    two.join();
    assert(cache->misses == 1);
}
