// The travelling salesman by branch and bound. Workers take the first leg of
// the tour from a shared counter, search all tours that begin with it, and cut
// off each branch that is longer than the best tour known to anybody.
//
//     tsp [workers] [maps] [cities]

#include <algorithm>
#include <atomic>
#include <cassert>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

using Map = std::vector<std::vector<int>>;

// Cities on a grid, shuffled by a small linear congruential generator.
static Map makeMap(unsigned seed, int cities) {
    std::vector<std::pair<int, int>> places;
    for (int i = 0; i < cities; i++) {
        seed = seed * 1103515245 + 12345;
        places.emplace_back(seed >> 8 & 63, seed >> 20 & 63);
    }
    Map distances(cities, std::vector<int>(cities));
    for (int from = 0; from < cities; from++)
        for (int to = 0; to < cities; to++)
            distances[from][to] = std::abs(places[from].first - places[to].first) +
                                  std::abs(places[from].second - places[to].second);
    return distances;
}

class Search {
public:
    explicit Search(const Map &map) : map(map), cities(static_cast<int>(map.size())) {}

    // Searches one first leg after the other and returns the shortest tour
    // that this worker has met.
    int work() {
        int own = INT_MAX;
        for (int second; (second = next.fetch_add(1)) < cities;) {
            std::vector<int> tour{0, second};
            extend(tour, map[0][second], own);
        }
        return own;
    }

    int shortest() const { return best.load(); }

private:
    void extend(std::vector<int> &tour, int length, int &own) {
        if (length >= best.load(std::memory_order_relaxed))
            return;
        if (static_cast<int>(tour.size()) == cities) {
            const int closed = length + map[tour.back()][0];
            own = std::min(own, closed);
            if (closed < best.load()) // marker: bound-compared
                improve(closed, tour);
            return;
        }
        for (int city = 1; city < cities; city++) {
            if (std::find(tour.begin(), tour.end(), city) != tour.end())
                continue;
            const int leg = map[tour.back()][city];
            tour.push_back(city);
            extend(tour, length + leg, own);
            tour.pop_back();
        }
    }

    void improve(int length, const std::vector<int> &tour) {
        std::lock_guard guard(lock);
#ifdef FIXED
        if (length >= best.load())
            return;
#endif
        bestTour = tour;
        best.store(length); // marker: bound-lowered
    }

    const Map &map;
    const int cities;
    std::atomic<int> next{1};
    std::mutex lock;
    std::atomic<int> best{INT_MAX};
    std::vector<int> bestTour;
};

static int solve(const Map &map, int workers) {
    Search search(map);
    std::vector<int> found(workers);
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; i++)
        threads.emplace_back([&, i] { found[i] = search.work(); });
    for (std::thread &thread : threads)
        thread.join();
    assert(search.shortest() == *std::min_element(found.begin(), found.end())); // marker: bound-is-least
    return search.shortest();
}

int main(int argc, char **argv) {
    const int workers = argc > 1 ? std::atoi(argv[1]) : 4;
    const int maps = argc > 2 ? std::atoi(argv[2]) : 1;
    const int cities = argc > 3 ? std::atoi(argv[3]) : 5;

    for (int number = 0; number < maps; number++)
        std::printf("map %d: %d\n", number, solve(makeMap(number + 1, cities), workers));
}
