// A window toolkit. Components that change report a dirty region to the
// repaint manager, from whatever thread they change in; the event thread
// repaints what is dirty. Buttons and labels have no state worth locking, the
// caret of a text field has.
//
//     repaint-manager [worker threads] [changes per worker]

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

class Caret;

class RepaintManager {
public:
    void addDirtyRegion(int size) {
        std::lock_guard guard(lock); // marker: manager-locked
        dirty += size;
    }

    void paintDirtyRegions(Caret &caret);

    int painted() {
        std::lock_guard guard(lock);
        return done;
    }

private:
    std::mutex lock;
    int dirty = 0;
    int done = 0;
};

class Caret {
public:
    explicit Caret(RepaintManager &manager) : manager(manager) {}

    void moveTo(int place) {
#ifdef FIXED
        {
            std::lock_guard guard(lock);
            position = place;
        }
        manager.addDirtyRegion(1);
#else
        std::lock_guard guard(lock); // marker: caret-moved
        position = place;
        manager.addDirtyRegion(1);
#endif
    }

    int paint() {
        std::lock_guard guard(lock); // marker: caret-painted
        return position;
    }

private:
    RepaintManager &manager;
    std::mutex lock;
    int position = 0;
};

void RepaintManager::paintDirtyRegions(Caret &caret) {
    std::lock_guard guard(lock);
    caret.paint();
    done += dirty;
    dirty = 0;
}

// One change in twenty moves the caret; the others concern plain components.
static void change(RepaintManager &manager, Caret &caret, int number) {
    if (number % 20 == 19)
        caret.moveTo(number);
    else
        manager.addDirtyRegion(1);
}

int main(int argc, char **argv) {
    const int workers = argc > 1 ? std::atoi(argv[1]) : 2;
    const int changes = argc > 2 ? std::atoi(argv[2]) : 40;

    RepaintManager manager;
    Caret caret(manager);
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; i++)
        threads.emplace_back([&manager, &caret, changes] {
            for (int number = 0; number < changes; number++)
                change(manager, caret, number);
        });
    std::thread events([&manager, &caret, changes] {
        for (int i = 0; i < changes / 10 + 1; i++)
            manager.paintDirtyRegions(caret);
    });
    for (std::thread &thread : threads)
        thread.join();
    events.join();
    manager.paintDirtyRegions(caret);
    std::printf("%d regions painted\n", manager.painted());
}
