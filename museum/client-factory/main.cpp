// The connection factory of a web server. Clients that finish report to the
// list of clients, which tells the factory that one more is idle. When the
// server shuts down, the factory goes through the list and ends them all.
//
//     client-factory [clients] [requests per client]

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

class SocketClientFactory {
public:
    void clientConnectionFinished() {
        std::lock_guard list(clientList); // marker: list-first
        finished++;
        incrementIdleCount();
    }

    int killClients() {
#ifdef FIXED
        std::scoped_lock guard(clientList, factory);
#else
        std::lock_guard self(factory);
        std::lock_guard list(clientList); // marker: list-second
#endif
        const int killed = idle;
        idle = 0;
        return killed;
    }

    int total() {
        std::lock_guard list(clientList);
        return finished;
    }

private:
    void incrementIdleCount() {
        std::lock_guard self(factory); // marker: factory-second
        idle++;
    }

    std::mutex factory;
    std::mutex clientList;
    int finished = 0;
    int idle = 0;
};

int main(int argc, char **argv) {
    const int clients = argc > 1 ? std::atoi(argv[1]) : 10;
    const int requests = argc > 2 ? std::atoi(argv[2]) : 10;

    SocketClientFactory server;
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; i++)
        threads.emplace_back([&server, requests] {
            for (int request = 0; request < requests; request++)
                server.clientConnectionFinished();
        });
    std::thread shutdown([&server] { server.killClients(); });
    for (std::thread &thread : threads)
        thread.join();
    shutdown.join();
    server.killClients();
    std::printf("%d requests served\n", server.total());
}
