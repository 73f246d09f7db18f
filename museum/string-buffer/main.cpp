// A string buffer whose every method is synchronised. Editors append a shared
// draft to their own text, while its author clears the draft and writes it
// anew.
//
//     string-buffer [editors] [rounds]

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

class StringBuffer {
public:
    size_t length() {
        std::lock_guard guard(lock);
        return text.size();
    }

    void setLength(size_t length) {
        std::lock_guard guard(lock);
        text.resize(length); // marker: text-shortened
    }

    void append(const char *more) {
        std::lock_guard guard(lock);
        text += more;
    }

    // The first `count` characters, or an exception if there are not so many.
    std::string prefix(size_t count) {
        std::lock_guard guard(lock);
        if (count > text.size())
            throw std::out_of_range("beyond the end of the buffer"); // marker: prefix-refused
        return text.substr(0, count);
    }

    std::string copy() {
        std::lock_guard guard(lock);
        return text;
    }

    void append(StringBuffer &other) {
#ifdef FIXED
        const std::string more = other.copy();
#else
        const size_t count = other.length();        // marker: length-read
        const std::string more = other.prefix(count); // marker: prefix-taken
#endif
        std::lock_guard guard(lock);
        text += more;
    }

private:
    std::mutex lock;
    std::string text;
};

int main(int argc, char **argv) {
    const int editors = argc > 1 ? std::atoi(argv[1]) : 2;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;

    StringBuffer draft;
    draft.append("once");
    std::thread author([&draft, rounds] {
        for (int i = 0; i < rounds; i++) {
            draft.setLength(0);
            draft.append("once");
        }
    });
    std::vector<StringBuffer> texts(editors);
    std::vector<std::thread> threads;
    for (StringBuffer &text : texts)
        threads.emplace_back([&text, &draft, rounds] {
            for (int i = 0; i < rounds; i++)
                text.append(draft);
        });
    for (std::thread &thread : threads)
        thread.join();
    author.join();
    std::printf("%zu characters in the first text\n", texts.front().length());
}
