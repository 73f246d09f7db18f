#include <cstdio>
#include <thread>

extern "C" int ring_size(void);

int main() {
    int size = 0;
    std::thread reader([&] { size = ring_size(); });
    reader.join();
    std::printf("%d\n", size);
}
