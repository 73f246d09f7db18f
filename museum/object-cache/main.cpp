// A cache of objects with room for a fixed number of them. To save
// allocations, an entry that is evicted is reused for the next object.
// Readers look an object up, copy its value, and set it into a page of text.
//
//     object-cache [readers] [lookups per reader] [letters per page]

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

class CacheObject {
public:
    void reset(int newKey, long newValue) {
        std::lock_guard guard(lock);
        key = newKey; // marker: entry-recycled
        value = newValue; // marker: value-recycled
    }

    bool holds(int wanted) {
        std::lock_guard guard(lock);
        return key == wanted;
    }

    long read() {
        std::lock_guard guard(lock);
        return value; // marker: entry-read
    }

    bool readIf(int wanted, long &copy) {
        std::lock_guard guard(lock);
        copy = value;
        return key == wanted;
    }

private:
    std::mutex lock;
    int key = -1;
    long value = 0;
};

static long valueOf(int key) { return key * 1000L + 7; }

class Cache {
public:
    explicit Cache(size_t room) : entries(room) {}

    long get(int key) {
        CacheObject &entry = find(key);
#ifdef FIXED
        long copy;
        while (!entry.readIf(key, copy))
            entry.reset(key, valueOf(key));
        return copy;
#else
        if (!entry.holds(key)) // marker: entry-found
            entry.reset(key, valueOf(key)); // marker: entry-refilled
        return entry.read();
#endif
    }

private:
    CacheObject &find(int key) { return entries[key % entries.size()]; }

    std::vector<CacheObject> entries;
};

static std::vector<char> text(4096, 'x');

static int typeset(int letters) {
    int width = 0;
    for (int i = 0; i < letters; i++)
        width += text[i % text.size()] == 'x' ? 6 : 5;
    return width;
}

static void reader(Cache &cache, int first, int lookups, int letters) {
    for (int i = 0; i < lookups; i++) {
        const int key = (first + i * 5) % 16;
        const long value = cache.get(key);
        assert(value == valueOf(key)); // marker: own-value
        assert(typeset(letters) == 6 * letters);
    }
}

int main(int argc, char **argv) {
    const int readers = argc > 1 ? std::atoi(argv[1]) : 3;
    const int lookups = argc > 2 ? std::atoi(argv[2]) : 20;
    const int letters = argc > 3 ? std::atoi(argv[3]) : 0;

    Cache cache(8);
    std::vector<std::thread> threads;
    for (int i = 0; i < readers; i++)
        threads.emplace_back(reader, std::ref(cache), i * 3, lookups, letters);
    for (std::thread &thread : threads)
        thread.join();
    std::printf("%d readers made %d lookups each\n", readers, lookups);
}
