// A servlet container loads the classes of its applications from an archive.
// A resource entry points to the bytes of a class; the first request that
// needs the class defines it from those bytes, which are then let go.
//
//     class-loader [requests] [classes]

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

using Bytes = std::vector<unsigned char>;

struct Class {
    unsigned checksum;
};

struct ResourceEntry {
    std::mutex lock;
    Class definition{};
    std::atomic<const Class *> loaded{nullptr};
    std::atomic<const Bytes *> content{nullptr};
};

class ClassLoader {
public:
    explicit ClassLoader(const std::vector<Bytes> &archive) : entries(archive.size()) {
        for (size_t number = 0; number < archive.size(); number++)
            entries[number].content = &archive[number];
    }

    const Class &load(size_t number) {
        ResourceEntry &entry = entries[number];
        if (const Class *known = entry.loaded.load()) // marker: loaded-checked
            return *known;

        std::lock_guard guard(entry.lock);
#ifdef FIXED
        if (const Class *known = entry.loaded.load())
            return *known;
#endif
        entry.definition = define(entry.content.load());
        entry.loaded.store(&entry.definition);
        entry.content.store(nullptr); // marker: content-dropped
        return entry.definition;
    }

private:
    static Class define(const Bytes *content) {
        return {std::accumulate(content->begin(), content->end(), 0u)}; // marker: content-used
    }

    std::vector<ResourceEntry> entries;
};

int main(int argc, char **argv) {
    const int requests = argc > 1 ? std::atoi(argv[1]) : 10;
    const int classes = argc > 2 ? std::atoi(argv[2]) : 10;

    std::vector<Bytes> archive;
    for (int number = 0; number < classes; number++)
        archive.push_back({'c', 'l', 's', static_cast<unsigned char>(number)});
    ClassLoader loader(archive);
    std::vector<unsigned> sums(requests);
    std::vector<std::thread> threads;
    for (int i = 0; i < requests; i++)
        threads.emplace_back([&, i] {
            for (int number = 0; number < classes; number++)
                sums[i] += loader.load(number).checksum;
        });
    for (std::thread &thread : threads)
        thread.join();
    std::printf("%d requests loaded %d classes; checksum %u\n", requests, classes, sums[0]);
}
