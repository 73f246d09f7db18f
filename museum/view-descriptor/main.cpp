// A database compiles views. Each client keeps creating and dropping a view of
// its own, all over the same source table. While a view is compiled the
// descriptor of the table knows which columns the view refers to, so that
// error messages can name them.
//
//     view-descriptor [clients] [views per client]

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct ColumnMap {
    int columns;
    const char *names;
};

class TableDescriptor {
public:
    explicit TableDescriptor(std::string name) : name(std::move(name)) {}

    void setReferencedColumns(const ColumnMap *columns) {
        referenced.store(columns, std::memory_order_release); // marker: map-cleared
    }

    // "source" while nothing is compiled, "source(a, b)" while a view is.
    std::string objectName() const {
#ifdef FIXED
        const ColumnMap *columns = referenced.load(std::memory_order_acquire);
        if (columns == nullptr)
            return name;
        return name + "(" + columns->names + ")";
#else
        if (referenced.load(std::memory_order_acquire) == nullptr) // marker: map-checked
            return name;
        return name + "(" + referenced.load(std::memory_order_acquire)->names + ")"; // marker: map-used
#endif
    }

private:
    const std::string name;
    std::atomic<const ColumnMap *> referenced{nullptr};
};

class Catalogue {
public:
    void create(const std::string &view) {
        std::lock_guard guard(lock);
        views.push_back(view);
    }

    void drop(const std::string &view) {
        std::lock_guard guard(lock);
        std::erase(views, view);
    }

    size_t size() {
        std::lock_guard guard(lock);
        return views.size();
    }

private:
    std::mutex lock;
    std::vector<std::string> views;
};

static const ColumnMap everyColumn = {2, "first, second"};

static void client(TableDescriptor &source, Catalogue &catalogue, int number, int iterations) {
    const std::string view = "view" + std::to_string(number);
    for (int i = 0; i < iterations; i++) {
        source.setReferencedColumns(&everyColumn);
        catalogue.create(view + " over " + source.objectName());
        source.setReferencedColumns(nullptr);

        catalogue.drop(view + " over source");
        catalogue.drop(view + " over source(first, second)");
    }
}

int main(int argc, char **argv) {
    const int clients = argc > 1 ? std::atoi(argv[1]) : 10;
    const int iterations = argc > 2 ? std::atoi(argv[2]) : 10;

    TableDescriptor source("source");
    Catalogue catalogue;
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; i++)
        threads.emplace_back(client, std::ref(source), std::ref(catalogue), i, iterations);
    for (std::thread &thread : threads)
        thread.join();
    std::printf("%d clients made %d views each; %zu left\n", clients, iterations, catalogue.size());
}
