// A message broker. Each session opens a topic, announces a listener for it,
// and publishes to the topic of its neighbour, each message sealed with a key
// that all sessions share. One dispatcher thread takes the published messages
// from a queue and hands each to the listener of its topic.
//
//     message-broker [sessions] [messages per session] [letters of the key]

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

using Listener = std::function<void(int)>;

class Broker {
public:
    void open(int topic) {
        std::lock_guard guard(lock);
        topics[topic] = nullptr; // marker: topic-opened
    }

    void open(int topic, Listener listener) {
        std::lock_guard guard(lock);
        topics[topic] = std::move(listener);
    }

    void listen(int topic, Listener listener) {
        std::lock_guard guard(lock);
        topics[topic] = std::move(listener); // marker: listener-set
    }

    // Messages to topics that nobody has opened are dropped.
    void publish(int topic, int message) {
        std::lock_guard guard(lock);
        if (topics.count(topic) == 0)
            return;
        queue.emplace_back(topic, message);
        arrived.notify_one();
    }

    void close() {
        std::lock_guard guard(lock);
        closed = true;
        arrived.notify_one();
    }

    void dispatch() {
        std::unique_lock guard(lock);
        for (;;) {
            arrived.wait(guard, [this] { return closed || !queue.empty(); });
            if (queue.empty())
                return;
            const auto [topic, message] = queue.front();
            queue.pop_front();
            const Listener listener = topics[topic]; // marker: listener-read
            guard.unlock();
            listener(message); // marker: listener-called
            guard.lock();
        }
    }

private:
    std::mutex lock;
    std::condition_variable arrived;
    std::map<int, Listener> topics;
    std::deque<std::pair<int, int>> queue;
    bool closed = false;
};

static std::vector<int> key;

static int sealed(int message) {
    for (int letter : key)
        message ^= letter;
    return message;
}

static void session(Broker &broker, int number, int sessions, int messages, long &received) {
    const Listener add = [&received](int message) { received += message; };
#ifdef FIXED
    broker.open(number, add);
#else
    broker.open(number);
    broker.listen(number, add);
#endif
    for (int i = 0; i < messages; i++)
        broker.publish((number + 1) % sessions, sealed(1));
}

int main(int argc, char **argv) {
    const int sessions = argc > 1 ? std::atoi(argv[1]) : 20;
    const int messages = argc > 2 ? std::atoi(argv[2]) : 10;
    key.assign(argc > 3 ? std::atoi(argv[3]) : 0, 0);

    Broker broker;
    std::vector<long> received(sessions);
    std::thread dispatcher(&Broker::dispatch, &broker);
    std::vector<std::thread> threads;
    for (int i = 0; i < sessions; i++)
        threads.emplace_back(session, std::ref(broker), i, sessions, messages, std::ref(received[i]));
    for (std::thread &thread : threads)
        thread.join();
    broker.close();
    dispatcher.join();

    long total = 0;
    for (long count : received)
        total += count;
    std::printf("%ld of %d messages delivered\n", total, sessions * messages);
}
