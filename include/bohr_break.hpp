// Concurrent breakpoints for C++: bohr_break.h says what they are. A guard stands
// for the statement of a side:
//
//     {
//         auto turn = bohr::first("lost update", account);
//         account.balance++;
//     }
//
// Anything can be brought along, with a condition on what two threads brought, the
// smaller side first:
//
//     auto turn = bohr::second("older", age, [](int one, int other) { return one < other; });
//
// A condition that throws is reported and does not hold. Without BOHR_BREAK defined
// to 1 nothing is left of this in the program.
#ifndef BOHR_BREAK_HPP
#define BOHR_BREAK_HPP

#include "bohr_break.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <type_traits>
#include <utility>

// A guard that nobody keeps ends at once; compilers say so from C++17 on.
#if __cplusplus >= 201703L
#define BOHR_BREAK_KEPT [[nodiscard]]
#else
#define BOHR_BREAK_KEPT
#endif

namespace bohr {

// What a place asks for.
struct Options {
  unsigned sides = 2;
  std::chrono::milliseconds pause{100};
  unsigned long ignore_first = 0;
  unsigned long at_most = 0;
  const char *within = nullptr;
  bool unless = false;
  // A mutex that the thread has to hold: what native_handle() of std::mutex gives.
  pthread_mutex_t *holding = nullptr;
  // Who finds another at its side, with its object, passes.
  bool one_waits = false;
};

namespace detail {
// What makes of a third argument a condition on two states.
template <class State, class Condition>
using Answer = decltype(std::declval<Condition>()(std::declval<const State &>(),
                                                  std::declval<const State &>()));
} // namespace detail

#if defined(BOHR_BREAK) && BOHR_BREAK

namespace detail {
template <class State, class Condition>
int holds(const void *first, const void *second) noexcept {
  try {
    static_assert(std::is_empty<Condition>::value, "a condition captures nothing");
    // A lambda without captures has no state, so any memory is one.
    alignas(Condition) char memory[sizeof(Condition)] = {};
    auto &condition = *reinterpret_cast<Condition *>(memory);
    return condition(*static_cast<const State *>(first), *static_cast<const State *>(second));
  } catch (const std::exception &thrown) {
    std::fprintf(stderr, "breakpoint: a condition threw and does not hold: %s\n", thrown.what());
    return 0;
  } catch (...) {
    std::fputs("breakpoint: a condition threw and does not hold\n", stderr);
    return 0;
  }
}

inline bohr_break_side brought(const void *object, const Options &options,
                               int (*condition)(const void *, const void *)) {
  return {object,
          options.sides,
          static_cast<unsigned>(options.pause.count()),
          options.ignore_first,
          options.at_most,
          options.within,
          options.unless,
          options.holding,
          options.one_waits,
          condition};
}
} // namespace detail

// A thread at a breakpoint. While it lives, the sides after it wait.
class BOHR_BREAK_KEPT Visit {
public:
  Visit(const char *name, unsigned side, const void *object, const Options &options,
        int (*condition)(const void *, const void *) = nullptr) {
    if (!bohr_break_is_armed())
      return;
    const bohr_break_side brought = detail::brought(object, options, condition);
    visit = bohr_break_enter(name, side, &brought);
  }
  // What a function returns is moved before C++17.
  Visit(Visit &&other) noexcept : visit(other.visit) { other.visit.meeting = nullptr; }
  Visit(const Visit &) = delete;
  Visit &operator=(const Visit &) = delete;
  ~Visit() { bohr_break_leave(&visit); }

  // Whether all sides have met.
  bool hit() const { return visit.meeting != nullptr; }

private:
  struct bohr_break_visit visit = {nullptr, 0, 1};
};

// Says that this thread is in a calling context, or holds a lock of some kind.
class BOHR_BREAK_KEPT Scope {
public:
  explicit Scope(const char *name) : scope{nullptr, name} { bohr_break_scope_begin(&scope); }
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;
  ~Scope() { bohr_break_scope_end(&scope); }

private:
  bohr_break_scope scope;
};

// Threads at the same object meet.
template <class T>
Visit side(unsigned number, const char *name, const T &object, const Options &options = {}) {
  return Visit(name, number, static_cast<const void *>(&object), options);
}

// Threads meet whose states satisfy the condition.
template <class State, class Condition, class = detail::Answer<State, Condition>>
Visit side(unsigned number, const char *name, const State &state, Condition,
           const Options &options = {}) {
  return Visit(name, number, static_cast<const void *>(&state), options,
               detail::holds<State, Condition>);
}

// Threads meet that each hold the lock which the other is about to take.
template <class Held, class Wanted>
Visit crossed(unsigned number, const char *name, const Held &held, const Wanted &wanted,
              const Options &options = {}) {
  bohr_break_locks locks = {static_cast<const void *>(&held), static_cast<const void *>(&wanted)};
  return Visit(name, number, &locks, options, bohr_break_crossed);
}

// The same without a guard, for where none fits: whether all sides have met. Nobody
// knows when the statement behind the call is done, so the sides after it wait a
// millisecond, and on a busy machine until its thread has run or waits for somebody.
inline bool reach(unsigned number, const char *name, const void *object = nullptr,
                  const Options &options = {}) {
  if (!bohr_break_is_armed())
    return false;
  const bohr_break_side brought = detail::brought(object, options, nullptr);
  return bohr_break_reach(name, number, &brought) != 0;
}

// Which of so many threads that come by this one is, from 1, in the order in which they were
// created; 0 if it is none of them. For `Options::unless`.
inline unsigned which(const char *name, unsigned of,
                      std::chrono::milliseconds pause = std::chrono::milliseconds(100)) {
  if (!bohr_break_is_armed())
    return 0;
  const bohr_break_alike alike = {of, static_cast<unsigned>(pause.count())};
  return bohr_break_which(name, &alike);
}

// Counts an error that can be seen, for the mean time to error.
inline void artefact(const char *name) { BOHR_BREAK_ARTEFACT(name); }

#else

inline void artefact(const char *) {}
inline unsigned which(const char *, unsigned,
                      std::chrono::milliseconds = std::chrono::milliseconds(100)) {
  return 0;
}
inline bool reach(unsigned, const char *, const void * = nullptr, const Options & = {}) {
  return false;
}
struct BOHR_BREAK_KEPT Visit {
  // So that a guard which nobody looks at is no unused variable.
  ~Visit() {}
  bool hit() const { return false; }
};
struct BOHR_BREAK_KEPT Scope {
  explicit Scope(const char *) {}
  ~Scope() {}
};
template <class T> Visit side(unsigned, const char *, const T &, const Options & = {}) {
  return {};
}
template <class State, class Condition, class = detail::Answer<State, Condition>>
Visit side(unsigned, const char *, const State &, Condition, const Options & = {}) {
  return {};
}
template <class Held, class Wanted>
Visit crossed(unsigned, const char *, const Held &, const Wanted &, const Options & = {}) {
  return {};
}

#endif

// A side by its name, with options in braces if need be: `first("lost update", account,
// {.pause = std::chrono::seconds(1)})`.
#define BOHR_BREAK_NAMED_SIDE(called, number)                                             \
  template <class T>                                                                      \
  Visit called(const char *name, const T &object, const Options &options = {}) {          \
    return side(number, name, object, options);                                           \
  }                                                                                       \
  template <class State, class Condition, class = detail::Answer<State, Condition>>       \
  Visit called(const char *name, const State &state, Condition condition,                 \
               const Options &options = {}) {                                             \
    return side(number, name, state, condition, options);                                 \
  }

// Before the statement that comes first, which ends when the guard does, and before the
// one that comes second.
BOHR_BREAK_NAMED_SIDE(first, 0)
BOHR_BREAK_NAMED_SIDE(second, 1)

// Before a notification that comes too early, and before the wait that misses it;
// the object is the condition.
BOHR_BREAK_NAMED_SIDE(notifies, 0)
BOHR_BREAK_NAMED_SIDE(waits, 1)

#undef BOHR_BREAK_NAMED_SIDE
#undef BOHR_BREAK_KEPT

} // namespace bohr

#endif
