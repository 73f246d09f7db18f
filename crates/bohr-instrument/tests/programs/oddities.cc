// Constructs with rules of their own about where code may stand.
#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <coroutine>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<__int128> huge;
static std::atomic<unsigned char> tiny;
static std::atomic<void *> pointer;
int shared_array[32];
static thread_local std::string name = "thread";
std::map<std::string, int> registry = {{"a", 1}, {"b", 2}};

struct Big { long values[20]; };
__attribute__((noinline)) static long by_value(Big big) { long s = 0; for (long v : big.values) s += v; return s; }
__attribute__((noinline)) static Big returned(int n) { Big b; for (int i = 0; i < 20; i++) b.values[i] = i * n; return b; }

static int variadic(int count, ...) {
  va_list list; va_start(list, count); int s = 0;
  while (count--) s += va_arg(list, int);
  va_end(list); return s;
}

static jmp_buf back;
__attribute__((noinline)) static void jump(int *p) { *p += 1; longjmp(back, *p); }

__attribute__((noinline)) static int thrower(int n) {
  std::unique_ptr<int> kept(new int(n));
  if (shared_array[n & 31] != n * n) throw std::runtime_error("bad " + std::to_string(n));
  return *kept;
}

__attribute__((naked)) static int bare(int) { __asm__("lea 1(%rdi), %eax\n ret"); }

static int tail(int n, int *p);
static int tail_other(int n, int *p) { p[0]++; if (n == 0) return p[0]; [[clang::musttail]] return tail(n - 1, p); }
static int tail(int n, int *p) { p[1]++; if (n == 0) return p[1]; [[clang::musttail]] return tail_other(n - 1, p); }

typedef int four __attribute__((vector_size(16)));
__attribute__((noinline)) static four vectors(const four *a, four *b) { *b = *a * 3; return *b + *a; }

struct Generator {
  struct promise_type {
    int value;
    Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int v) { value = v; return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
  ~Generator() { handle.destroy(); }
};
static Generator count(int n) { for (int i = 0; i < n; i++) co_yield shared_array[i]; }

int main() {
  for (int i = 0; i < 32; i++) shared_array[i] = i * i;
  printf("%ld %d\n", by_value(returned(3)), variadic(4, 1, 2, 3, 4));
  volatile int jumps = 0;
  if (setjmp(back) < 3) { jumps = jumps + 1; jump(&shared_array[1]); }
  printf("%d %d\n", jumps, shared_array[1]);
  int caught = 0;
  for (int i = 0; i < 40; i++) { try { caught += thrower(i); } catch (const std::exception &e) { caught -= (int)strlen(e.what()); } }
  int p[2] = {0, 0};
  printf("%d %d %d\n", caught, bare(41), tail(9, p));
  four a = {1, 2, 3, 4}, b;
  a = vectors(&a, &b);
  printf("%d %d\n", a[0] + a[3], b[1]);
  __int128 want = 0; huge.compare_exchange_strong(want, (__int128)1 << 100);
  tiny.fetch_or(0x81); tiny.exchange(tiny.load() ^ 1); pointer.store(&a, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  printf("%d %d %d\n", (int)(huge.load() >> 98), tiny.load(), pointer.load() == &a);
  std::vector<std::thread> threads;
  std::atomic<int> total{0};
  for (int i = 0; i < 4; i++) threads.emplace_back([&, i] { name += std::to_string(i); total += (int)name.size() + registry["b"]; });
  for (auto &thread : threads) thread.join();
  auto later = std::async(std::launch::async, [] { return registry.at("a") + 1; });
  std::vector<std::string> words = {"pear", "fig", "apple"};
  std::sort(words.begin(), words.end());
  printf("%d %d %s\n", total.load(), later.get(), words[0].c_str());
  auto g = count(4);
  int s = 0;
  while (g.handle.resume(), !g.handle.done()) s += g.handle.promise().value;
  printf("%d\n", s);
}
