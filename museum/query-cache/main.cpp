// A query cache. Clients look a query up and store the result if it is new;
// the administrator may flush the cache or change its size at any time. A size
// of zero switches the cache off and gives its memory back.
//
//     query-cache [clients] [queries per client]

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

class QueryCache {
public:
    explicit QueryCache(size_t slots) { resize(slots); }

    bool isEnabled() {
        std::lock_guard guard(lock);
        return size != 0;
    }

    // Only while the cache is enabled.
    void store(unsigned query, int rows) {
        std::lock_guard guard(lock);
        results[query % CAPACITY] = rows; // marker: slot-written
    }

    void storeIfEnabled(unsigned query, int rows) {
        std::lock_guard guard(lock);
        if (size != 0)
            results[query % CAPACITY] = rows;
    }

    void resize(size_t slots) {
        std::lock_guard guard(lock);
        size = slots; // marker: size-changed
        results = slots == 0 ? nullptr : std::make_unique<int[]>(CAPACITY); // marker: slots-dropped
    }

private:
    static constexpr size_t CAPACITY = 64;

    std::mutex lock;
    size_t size = 0;
    std::unique_ptr<int[]> results;
};

static void answer(QueryCache &cache, unsigned query) {
    const int rows = static_cast<int>(query % 5);
#ifdef FIXED
    cache.storeIfEnabled(query, rows);
#else
    if (cache.isEnabled()) // marker: enabled-checked
        cache.store(query, rows);
#endif
}

int main(int argc, char **argv) {
    const int clients = argc > 1 ? std::atoi(argv[1]) : 2;
    const int queries = argc > 2 ? std::atoi(argv[2]) : 10;

    QueryCache cache(8);
    std::vector<std::thread> threads;
    for (int client = 0; client < clients; client++)
        threads.emplace_back([&cache, client, queries] {
            for (int i = 0; i < queries; i++)
                answer(cache, client * 1000 + i);
        });
    threads.emplace_back([&cache, queries] {
        for (int i = 0; i < queries / 20 + 1; i++)
            cache.resize(i % 4 * 8);
    });
    for (std::thread &thread : threads)
        thread.join();
    std::printf("%d clients ran %d queries each\n", clients, queries);
}
