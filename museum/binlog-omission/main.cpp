// A database that writes every change of its table to a binary log. From time
// to time the log is rotated: it is closed, renamed and opened again. A change
// that comes while logging is switched off is not logged.
//
//     binlog-omission [clients] [changes per client]

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

class BinaryLog {
public:
    bool isOpen() {
        std::lock_guard guard(lock);
        return open;
    }

    void write() {
        std::lock_guard guard(lock);
        events++;
    }

    void rotate() {
#ifdef FIXED
        std::lock_guard guard(lock);
        open = false;
        number++;
        open = true;
#else
        close();
        number++;
        reopen();
#endif
    }

    long written() {
        std::lock_guard guard(lock);
        return events;
    }

private:
    void close() {
        std::lock_guard guard(lock);
        open = false; // marker: log-closed
    }

    void reopen() {
        std::lock_guard guard(lock);
        open = true; // marker: log-opened
    }

    std::mutex lock;
    bool open = true;
    int number = 1;
    long events = 0;
};

class Table {
public:
    void change() {
        std::lock_guard guard(lock);
        changes++;
    }

    long total() {
        std::lock_guard guard(lock);
        return changes;
    }

private:
    std::mutex lock;
    long changes = 0;
};

static void execute(Table &table, BinaryLog &log) {
    table.change();
    if (log.isOpen()) // marker: log-checked
        log.write();
}

int main(int argc, char **argv) {
    const int clients = argc > 1 ? std::atoi(argv[1]) : 2;
    const int changes = argc > 2 ? std::atoi(argv[2]) : 10;

    Table table;
    BinaryLog log;
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; i++)
        threads.emplace_back([&, changes] {
            for (int change = 0; change < changes; change++)
                execute(table, log);
        });
    std::thread rotation([&log, changes] {
        for (int i = 0; i < changes / 10 + 1; i++)
            log.rotate();
    });
    for (std::thread &thread : threads)
        thread.join();
    rotation.join();
    assert(log.written() == table.total()); // marker: log-complete
    std::printf("%ld changes, all in the log\n", table.total());
}
