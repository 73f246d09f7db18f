// A small database with two tables: orders, and the lines of each order.
// Clerks place orders, one row in each table. A report joins the two tables
// and counts what has been ordered.
//
//     two-tables [clerks] [orders per clerk]

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

class Table {
public:
    void insert(int key, int value) {
        std::lock_guard guard(lock);
        rows.emplace(key, value);
    }

    std::vector<int> keys() {
        std::lock_guard guard(lock);
        std::vector<int> all;
        for (const auto &row : rows)
            all.push_back(row.first);
        return all;
    }

    bool has(int key) {
        std::lock_guard guard(lock);
        return rows.count(key) != 0;
    }

private:
    std::mutex lock;
    std::map<int, int> rows;
};

struct Database {
    std::mutex transaction;
    Table orders;
    Table lines;
};

static void place(Database &database, int number) {
#ifdef FIXED
    std::lock_guard guard(database.transaction);
#endif
    database.orders.insert(number, number % 7); // marker: order-inserted
    database.lines.insert(number, 1);           // marker: line-inserted
}

static size_t report(Database &database) {
#ifdef FIXED
    std::lock_guard guard(database.transaction);
#endif
    const std::vector<int> orders = database.orders.keys(); // marker: orders-read
    for (int number : orders)
        assert(database.lines.has(number)); // marker: order-has-line
    return orders.size();
}

int main(int argc, char **argv) {
    const int clerks = argc > 1 ? std::atoi(argv[1]) : 2;
    const int orders = argc > 2 ? std::atoi(argv[2]) : 10;

    Database database;
    std::vector<std::thread> threads;
    // Reports in the course of the day, a busy one has more, and one when the clerks
    // have gone home.
    threads.emplace_back([&database, orders] {
        for (int i = 0; i <= orders / 1000; i++)
            report(database);
    });
    for (int clerk = 0; clerk < clerks; clerk++)
        threads.emplace_back([&database, clerk, orders] {
            for (int i = 0; i < orders; i++)
                place(database, clerk * orders + i);
        });
    for (std::thread &thread : threads)
        thread.join();
    std::printf("%zu orders\n", report(database));
}
