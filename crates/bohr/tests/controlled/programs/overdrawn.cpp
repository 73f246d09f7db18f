// Two threads check an account and then draw from it; both see enough.
#include <cassert>
#include <mutex>
#include <thread>

class Account {
public:
  int balance() {
    std::lock_guard<std::mutex> guard(lock);
    return amount;
  }

  void draw(int wanted) {
    std::lock_guard<std::mutex> guard(lock);
    amount -= wanted;
    assert(amount >= 0);
  }

private:
  std::mutex lock;
  int amount = 10;
};

static Account account;

static void customer() {
#ifdef FIXED
  static std::mutex whole;
  std::lock_guard<std::mutex> guard(whole);
#endif
  if (account.balance() >= 8)
    account.draw(8);
}

int main() {
  std::thread one(customer);
  std::thread other(customer);
  one.join();
  other.join();
  return 0;
}
