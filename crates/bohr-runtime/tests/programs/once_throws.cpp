// The first execution of what is to be done once ends by an exception; whoever comes
// next does it again.
#include <mutex>
#include <thread>

static std::once_flag once;
static int tries;

static void set_up() {
    if (++tries == 1) throw 1;
}

static void use() {
    for (;;) {
        try {
            std::call_once(once, set_up);
            return;
        } catch (int) {
        }
    }
}

int main() {
    std::thread one(use), other(use);
    one.join();
    other.join();
    return tries != 2;
}
