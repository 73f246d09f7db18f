/* Concurrent breakpoints for C and C++: two places in a program and a condition
 * on the threads that come there. A thread that arrives alone is held up for a
 * moment; when its partner comes, the breakpoint is hit, and the two go on in the
 * order that was asked for. After Park, Sen, "Concurrent breakpoints", PPoPP 2012.
 *
 *     void deposit_slowly(struct account *account) {
 *         int seen = account->balance;
 *         BOHR_BREAK_SECOND("lost update", account) {
 *             account->balance = seen + 1;
 *         }
 *     }
 *     void deposit_quickly(struct account *account) {
 *         BOHR_BREAK_FIRST("lost update", account) {
 *             account->balance++;
 *         }
 *     }
 *
 * The second block begins when the first is done, however it is left; `break` and
 * `continue` in it leave the block and nothing else. Options follow the object:
 *
 *     BOHR_BREAK_FIRST("lost update", account, .pause = 1000, .ignore_first = 7) { ... }
 *
 * All places with the same name are one breakpoint, in whatever file they are.
 * Threads meet if they bring the same object, or if the condition of the options
 * says so; for two locks in opposite order:
 *
 *     struct bohr_break_locks locks = {held, wanted};
 *     BOHR_BREAK_FIRST("inversion", &locks, .condition = bohr_break_crossed) { lock(wanted); }
 *
 * and for a notification that nobody is there to hear:
 *
 *     BOHR_BREAK_NOTIFIES("unheard", &changed) { pthread_cond_signal(&changed); }
 *     BOHR_BREAK_WAITS("unheard", &changed) { wait_for_change(); }
 *
 * Threads that run the same code are told apart by the order in which they were created,
 * however they come by; the first of them, of two:
 *
 *     BOHR_BREAK_FIRST("lost update", account, .unless = BOHR_BREAK_WHICH("tellers", 2) != 1)
 *
 * All places that name the roll "tellers" mean the same two. Who comes before the other is
 * held up at its first visit, for 100 ms at most unless `.pause` follows the number, and
 * then they go on in their order, each after a moment. A
 * third thread is none of them.
 *
 * Without BOHR_BREAK defined to 1 before this file is included, nothing is left of
 * all this in the program. With it, breakpoints sleep until the environment arms
 * them, or bohr_break_arm() does:
 *
 *     BOHR_BREAK=all          or names of breakpoints with commas between
 *     BOHR_BREAK_PAUSE=1000   how long threads are held up, in milliseconds
 *     BOHR_BREAK_SUMMARY=text or json: what became of them, on standard error at exit
 *
 * BOHR_BREAK_ARTEFACT("lost update") counts an error that can be seen, for the mean
 * time to error where the bug does not end the program; hits count otherwise.
 *
 * A thread is never held up for good: pauses end, and no lock is held while a
 * condition is evaluated. A thread that is cancelled while it is held up leaves
 * nothing behind; it is not cancelled while it evaluates a condition. In a child process
 * nobody waits but its own threads. With
 * AddressSanitizer, a condition on something that was freed while its thread was held
 * up is reported and does not hold. Link with -pthread. In C++ use bohr_break.hpp, which shares its
 * breakpoints with C.
 */
#ifndef BOHR_BREAK_H
#define BOHR_BREAK_H

#include <pthread.h>
#include <stddef.h>

/* What a thread brings along, and what the place asks for. Zero is the ordinary
 * value of every field. */
struct bohr_break_side {
  const void *object;         /* what the condition is about */
  unsigned sides;             /* how many have to meet; 2 */
  unsigned pause;             /* milliseconds that a thread is held up; 100 */
  unsigned long ignore_first; /* visits of the breakpoint that pass */
  unsigned long at_most;      /* hits after which it sleeps, and nobody is held up */
  const char *within;         /* a scope that the thread has to be in */
  int unless;                 /* this visit passes if it is not 0 */
  pthread_mutex_t *holding;   /* a mutex that the thread has to hold */
  int one_waits;              /* who finds another at its side, with its object, passes */
  /* Whether two threads meet, by what they brought, the smaller side first. */
  int (*condition)(const void *first, const void *second);
};

/* Threads that run the same code. */
struct bohr_break_alike {
  unsigned threads; /* how many; at most 16 */
  unsigned pause;   /* milliseconds that who comes before the others is held up; 100 */
};

/* For breakpoints on two locks that are taken in opposite order. */
struct bohr_break_locks {
  const void *held, *wanted;
};

/* A thread at a breakpoint. */
struct bohr_break_visit {
  struct bohr_break_meeting *meeting;
  unsigned side;
  int open;
};

#if defined(BOHR_BREAK) && BOHR_BREAK

#include "bohr_break_meeting.h"

/* The block that follows is the statement of a side, counted from 0. */
#define BOHR_BREAK_SIDE(name, side, ...)                                                  \
  for (struct bohr_break_visit bohr_break_here_                                           \
           __attribute__((cleanup(bohr_break_leave))) =                                   \
               bohr_break_is_armed()                                                      \
                   ? bohr_break_enter(name, side, BOHR_BREAK_BROUGHT(__VA_ARGS__))        \
                   : (struct bohr_break_visit){NULL, side, 1};                            \
       bohr_break_here_.open; bohr_break_leave(&bohr_break_here_))
/* Whether the breakpoint of the block around was hit. */
#define BOHR_BREAK_HIT (bohr_break_here_.meeting != NULL)
#define BOHR_BREAK_REACH(name, side, ...)                                                 \
  (bohr_break_is_armed() && bohr_break_reach(name, side, BOHR_BREAK_BROUGHT(__VA_ARGS__)))
/* Which of so many threads that come by this one is, from 1; 0 if it is none of them. */
#define BOHR_BREAK_WHICH(name, ...)                                                       \
  (bohr_break_is_armed() ? bohr_break_which(name, BOHR_BREAK_ALIKE(__VA_ARGS__)) : 0u)
#define BOHR_BREAK_ARTEFACT(name) ((void)(bohr_break_is_armed() && (bohr_break_artefact(name), 0)))
/* To the end of the enclosing block this thread is in a scope: a calling context,
 * or under a lock. */
#define BOHR_BREAK_SCOPE(name) BOHR_BREAK_SCOPE_AT(name, __COUNTER__)
#define BOHR_BREAK_SCOPE_AT(name, number) BOHR_BREAK_SCOPE_NUMBERED(name, number)
#define BOHR_BREAK_SCOPE_NUMBERED(name, number)                                           \
  BOHR_BREAK_SCOPE_CALLED(name, bohr_break_scope_##number)
#define BOHR_BREAK_SCOPE_CALLED(name, scope)                                              \
  struct bohr_break_scope scope __attribute__((cleanup(bohr_break_scope_end))) = {NULL, name}; \
  bohr_break_scope_begin(&scope)

#else

static inline void bohr_break_arm(void) {}
static inline void bohr_break_disarm(void) {}
/* What was brought is looked at by the compiler only. */
#define BOHR_BREAK_SIDE(name, side, ...)                                                  \
  for (int bohr_break_here_ = sizeof(BOHR_BREAK_BROUGHT(__VA_ARGS__)) != 0;               \
       bohr_break_here_; bohr_break_here_ = 0)
#define BOHR_BREAK_HIT 0
#define BOHR_BREAK_REACH(name, side, ...)                                                 \
  ((void)sizeof(BOHR_BREAK_BROUGHT(__VA_ARGS__)), 0)
#define BOHR_BREAK_WHICH(name, ...) ((void)sizeof(BOHR_BREAK_ALIKE(__VA_ARGS__)), 0u)
#define BOHR_BREAK_ARTEFACT(name) ((void)0)
#define BOHR_BREAK_SCOPE(name) ((void)0)

#endif

#define BOHR_BREAK_BROUGHT(...) (&(const struct bohr_break_side){.object = __VA_ARGS__})
#define BOHR_BREAK_ALIKE(...) (&(const struct bohr_break_alike){.threads = __VA_ARGS__})
#define BOHR_BREAK_FIRST(name, ...) BOHR_BREAK_SIDE(name, 0, __VA_ARGS__)
#define BOHR_BREAK_SECOND(name, ...) BOHR_BREAK_SIDE(name, 1, __VA_ARGS__)
/* A notification that comes before somebody waits for it; the object is the condition. */
#define BOHR_BREAK_NOTIFIES(name, ...) BOHR_BREAK_SIDE(name, 0, __VA_ARGS__)
#define BOHR_BREAK_WAITS(name, ...) BOHR_BREAK_SIDE(name, 1, __VA_ARGS__)

#endif
