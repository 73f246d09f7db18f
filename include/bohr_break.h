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
 * Without BOHR_BREAK defined to 1 before this file is included, nothing is left of
 * all this in the program. With it, breakpoints sleep until the environment arms
 * them, or bohr_break_arm() does:
 *
 *     BOHR_BREAK=all          or names of breakpoints with commas between
 *     BOHR_BREAK_PAUSE=1000   how long threads are held up, in milliseconds
 *     BOHR_BREAK_SUMMARY=text or json: what became of them, on standard error at exit
 *
 * A thread is never held up for good: pauses end, and no lock is held while a
 * condition is evaluated. A thread that is cancelled while it is held up leaves
 * nothing behind. Link with -pthread. In C++ use bohr_break.hpp, which shares its
 * breakpoints with C.
 */
#ifndef BOHR_BREAK_H
#define BOHR_BREAK_H

#include <stddef.h>

/* What a thread brings along, and what the place asks for. Zero is the ordinary
 * value of every field. */
struct bohr_break_side {
  const void *object;         /* what the condition is about */
  unsigned sides;             /* how many have to meet; 2 */
  unsigned pause;             /* milliseconds that a thread is held up; 100 */
  unsigned long ignore_first; /* visits of the breakpoint that pass */
  unsigned long at_most;      /* hits after which it sleeps */
  const char *within;         /* a scope that the thread has to be in */
  int unless;                 /* this visit passes if it is not 0 */
  /* Whether two threads meet, by what they brought, the smaller side first. */
  int (*condition)(const void *first, const void *second);
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

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One of each in the program, however many files include this one. */
#define BOHR_BREAK_SHARED __attribute__((weak))

struct bohr_break_meeting {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned turn, sides, left;
  int unsettled;
};

struct bohr_break_thread {
  struct bohr_break_thread *next;
  struct bohr_break_point *point;
  unsigned side;
  const void *object;
  pthread_t thread;
  struct bohr_break_meeting *meeting;
  /* Looked at without the lock by this many threads. */
  unsigned looked_at;
};

struct bohr_break_point {
  struct bohr_break_point *next;
  char *name;
  struct bohr_break_thread *waiting;
  unsigned long arrivals, passed, visits, postponements, hits, timeouts;
  double first_hit;
};

/* Of the whole program: few threads come here, so one lock is enough. */
struct bohr_break_program {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct bohr_break_point *points;
  struct timespec begin;
};

struct bohr_break_scope {
  struct bohr_break_scope *outer;
  const char *name;
};

BOHR_BREAK_SHARED int bohr_break_state; /* 0 unknown, 1 asleep, 2 armed */
BOHR_BREAK_SHARED struct bohr_break_program bohr_break_program = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, {0, 0}};
/* The scopes that this thread is in, the innermost first. */
BOHR_BREAK_SHARED __thread struct bohr_break_scope *bohr_break_scopes;

BOHR_BREAK_SHARED struct timespec bohr_break_after(unsigned milliseconds) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += milliseconds / 1000;
  time.tv_nsec += milliseconds % 1000 * 1000000L;
  if (time.tv_nsec >= 1000000000L) {
    time.tv_sec++;
    time.tv_nsec -= 1000000000L;
  }
  return time;
}

/* The summary, on standard error. */
BOHR_BREAK_SHARED void bohr_break_print(void) {
  const char *form = getenv("BOHR_BREAK_SUMMARY");
  int json = form != NULL && strcmp(form, "json") == 0;
  pthread_mutex_lock(&bohr_break_program.lock);
  if (json)
    fputs("[", stderr);
  for (struct bohr_break_point *point = bohr_break_program.points; point != NULL;
       point = point->next) {
    if (json) {
      fputs("{\"name\":\"", stderr);
      for (const char *letter = point->name; *letter != 0; letter++) {
        if (*letter == '"' || *letter == '\\')
          fputc('\\', stderr);
        if ((unsigned char)*letter < ' ')
          fprintf(stderr, "\\u%04x", (unsigned char)*letter);
        else
          fputc(*letter, stderr);
      }
      fprintf(stderr,
              "\",\"visits\":%lu,\"postponements\":%lu,\"hits\":%lu,\"timeouts\":%lu,"
              "\"seconds_to_first_hit\":",
              point->visits, point->postponements, point->hits, point->timeouts);
      if (point->hits > 0)
        fprintf(stderr, "%.6f}", point->first_hit);
      else
        fputs("null}", stderr);
      if (point->next != NULL)
        fputc(',', stderr);
    } else {
      fprintf(stderr, "breakpoint %s: %lu visits, %lu postponed, %lu hits, %lu timed out\n",
              point->name, point->visits, point->postponements, point->hits, point->timeouts);
    }
  }
  if (json)
    fputs("]\n", stderr);
  pthread_mutex_unlock(&bohr_break_program.lock);
}

BOHR_BREAK_SHARED void bohr_break_arm(void) {
  int before = __atomic_exchange_n(&bohr_break_state, 2, __ATOMIC_SEQ_CST);
  if (before != 2 && getenv("BOHR_BREAK_SUMMARY") != NULL)
    atexit(bohr_break_print);
}

BOHR_BREAK_SHARED void bohr_break_disarm(void) {
  __atomic_store_n(&bohr_break_state, 1, __ATOMIC_SEQ_CST);
}

BOHR_BREAK_SHARED int bohr_break_look(void) {
  const char *names = getenv("BOHR_BREAK");
  int unknown = 0;
  if (names != NULL && *names != 0)
    bohr_break_arm();
  else
    __atomic_compare_exchange_n(&bohr_break_state, &unknown, 1, 0, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
  return __atomic_load_n(&bohr_break_state, __ATOMIC_SEQ_CST) == 2;
}

static inline int bohr_break_is_armed(void) {
  int state = __atomic_load_n(&bohr_break_state, __ATOMIC_RELAXED);
  return state == 1 ? 0 : state == 2 ? 1 : bohr_break_look();
}

/* Whether the environment leaves this name in. */
BOHR_BREAK_SHARED int bohr_break_includes(const char *name) {
  const char *names = getenv("BOHR_BREAK");
  size_t length = strlen(name);
  if (names == NULL || *names == 0 || strcmp(names, "all") == 0)
    return 1;
  while (*names != 0) {
    while (*names == ' ' || *names == ',')
      names++;
    size_t end = strcspn(names, ",");
    if (end == length && strncmp(names, name, length) == 0)
      return 1;
    names += end;
  }
  return 0;
}

/* Under the lock: the breakpoint with this name. */
BOHR_BREAK_SHARED struct bohr_break_point *bohr_break_named(const char *name) {
  struct bohr_break_point **end = &bohr_break_program.points;
  for (; *end != NULL; end = &(*end)->next)
    if (strcmp((*end)->name, name) == 0)
      return *end;
  if (bohr_break_program.points == NULL)
    clock_gettime(CLOCK_MONOTONIC, &bohr_break_program.begin);
  struct bohr_break_point *point = (struct bohr_break_point *)calloc(1, sizeof *point);
  char *copy = (char *)malloc(strlen(name) + 1);
  if (point == NULL || copy == NULL) {
    free(point);
    free(copy);
    return NULL;
  }
  point->name = strcpy(copy, name);
  return *end = point;
}

BOHR_BREAK_SHARED int bohr_break_is_within(const char *name) {
  for (struct bohr_break_scope *scope = bohr_break_scopes; scope != NULL; scope = scope->outer)
    if (strcmp(scope->name, name) == 0)
      return 1;
  return 0;
}

BOHR_BREAK_SHARED int bohr_break_same(const void *first, const void *second) {
  return first == second;
}

/* For .condition, where the objects are struct bohr_break_locks. */
BOHR_BREAK_SHARED int bohr_break_crossed(const void *first, const void *second) {
  const struct bohr_break_locks *one = (const struct bohr_break_locks *)first;
  const struct bohr_break_locks *other = (const struct bohr_break_locks *)second;
  return one->held == other->wanted && one->wanted == other->held;
}

/* Under the lock, which is given back while conditions are evaluated: one thread
 * for every other side. A thread that is looked at stays, since it waits for that. */
BOHR_BREAK_SHARED int bohr_break_choose(struct bohr_break_thread *chosen[], unsigned count,
                                        unsigned sides,
                                        int (*condition)(const void *, const void *)) {
  unsigned side = 0;
  for (unsigned number = 0; number < count; number++)
    if (chosen[number]->side == side) {
      side++;
      number = (unsigned)-1;
    }
  if (side >= sides)
    return 1;
  struct bohr_break_thread *other = chosen[0]->point->waiting;
  while (other != NULL) {
    int fits = other->side == side && other->meeting == NULL;
    for (unsigned number = 0; number < count && fits; number++) {
      struct bohr_break_thread *one = chosen[number];
      if (pthread_equal(one->thread, other->thread)) {
        fits = 0;
        break;
      }
      const void *first = one->side < other->side ? one->object : other->object;
      const void *second = one->side < other->side ? other->object : one->object;
      other->looked_at++;
      pthread_mutex_unlock(&bohr_break_program.lock);
      fits = condition(first, second);
      pthread_mutex_lock(&bohr_break_program.lock);
      other->looked_at--;
      pthread_cond_broadcast(&bohr_break_program.changed);
    }
    if (fits && other->meeting == NULL) {
      chosen[count] = other;
      other->looked_at++;
      int complete = bohr_break_choose(chosen, count + 1, sides, condition);
      other->looked_at--;
      pthread_cond_broadcast(&bohr_break_program.changed);
      if (complete)
        return 1;
    }
    other = other->next;
  }
  return 0;
}

/* Under the lock: takes a thread out of its list. Also when it is cancelled. */
BOHR_BREAK_SHARED void bohr_break_leave_list(void *argument) {
  struct bohr_break_thread *own = (struct bohr_break_thread *)argument;
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  while (own->looked_at > 0)
    pthread_cond_wait(&bohr_break_program.changed, &bohr_break_program.lock);
  pthread_setcancelstate(before, NULL);
  struct bohr_break_thread **link = &own->point->waiting;
  while (*link != NULL && *link != own)
    link = &(*link)->next;
  if (*link == own)
    *link = own->next;
}

/* The end of one side; the last one takes the meeting down. */
BOHR_BREAK_SHARED void bohr_break_pass(struct bohr_break_visit *visit, int unsettled) {
  struct bohr_break_meeting *meeting = visit->meeting;
  visit->meeting = NULL;
  visit->open = 0;
  if (meeting == NULL)
    return;
  pthread_mutex_lock(&meeting->lock);
  if (meeting->turn <= visit->side)
    meeting->turn = visit->side + 1;
  meeting->unsettled = unsettled;
  int last = --meeting->left == 0;
  pthread_cond_broadcast(&meeting->changed);
  pthread_mutex_unlock(&meeting->lock);
  if (last) {
    pthread_cond_destroy(&meeting->changed);
    pthread_mutex_destroy(&meeting->lock);
    free(meeting);
  }
}

/* A thread is cancelled while it is held up; its partners go on. */
BOHR_BREAK_SHARED void bohr_break_cancelled(void *argument) {
  struct bohr_break_thread *own = (struct bohr_break_thread *)argument;
  bohr_break_leave_list(own);
  struct bohr_break_visit visit = {own->meeting, own->side, 0};
  pthread_mutex_unlock(&bohr_break_program.lock);
  bohr_break_pass(&visit, 0);
}

/* The end of a block, however it is left. */
static inline void bohr_break_leave(struct bohr_break_visit *visit) {
  if (visit->meeting != NULL)
    bohr_break_pass(visit, 0);
  visit->open = 0;
}

BOHR_BREAK_SHARED void bohr_break_take_turn(struct bohr_break_visit *visit, unsigned pause) {
  struct bohr_break_meeting *meeting = visit->meeting;
  struct timespec deadline = bohr_break_after(pause);
  int late = 0, before;
  /* Nothing of the library's is left half done by a cancelled thread. */
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  pthread_mutex_lock(&meeting->lock);
  while (meeting->turn < visit->side && !late)
    late = pthread_cond_timedwait(&meeting->changed, &meeting->lock, &deadline) == ETIMEDOUT;
  int unsettled = visit->side > 0 && meeting->unsettled;
  pthread_mutex_unlock(&meeting->lock);
  pthread_setcancelstate(before, NULL);
  if (unsettled) {
    struct timespec settling = {0, 1000000};
    nanosleep(&settling, NULL);
  }
}

/* Under the lock: whether this visit is one that counts. */
BOHR_BREAK_SHARED int bohr_break_counts(struct bohr_break_point *point,
                                        const struct bohr_break_side *options) {
  point->visits++;
  if (options->unless || (options->within != NULL && !bohr_break_is_within(options->within)))
    return 0;
  if (point->passed < options->ignore_first) {
    point->passed++;
    return 0;
  }
  return options->at_most == 0 || point->hits < options->at_most;
}

enum { BOHR_BREAK_MOST_SIDES = 16 };

/* Under the lock: those who have met, or nothing. */
BOHR_BREAK_SHARED struct bohr_break_meeting *
bohr_break_meet(struct bohr_break_thread *chosen[], unsigned sides) {
  struct bohr_break_meeting *meeting = (struct bohr_break_meeting *)calloc(1, sizeof *meeting);
  struct timespec now;
  if (meeting == NULL)
    return NULL;
  pthread_mutex_init(&meeting->lock, NULL);
  pthread_cond_init(&meeting->changed, NULL);
  meeting->sides = meeting->left = sides;
  for (unsigned number = 0; number < sides; number++)
    chosen[number]->meeting = meeting;
  struct bohr_break_point *point = chosen[0]->point;
  if (point->hits++ == 0) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    point->first_hit = (double)(now.tv_sec - bohr_break_program.begin.tv_sec) +
                       (double)(now.tv_nsec - bohr_break_program.begin.tv_nsec) / 1e9;
  }
  pthread_cond_broadcast(&bohr_break_program.changed);
  return meeting;
}

/* Under the lock: looks for partners, then waits for them. */
BOHR_BREAK_SHARED void bohr_break_wait(struct bohr_break_thread *own, unsigned sides,
                                       unsigned pause,
                                       int (*condition)(const void *, const void *)) {
  struct bohr_break_thread *chosen[BOHR_BREAK_MOST_SIDES] = {own};
  struct bohr_break_point *point = own->point;
  unsigned long arrivals;
  do {
    arrivals = point->arrivals;
    if (bohr_break_choose(chosen, 1, sides, condition)) {
      /* Somebody may have been taken while conditions were evaluated. */
      int all = 1;
      for (unsigned number = 1; number < sides; number++)
        all = all && chosen[number]->meeting == NULL;
      if (all) {
        bohr_break_meet(chosen, sides);
        return;
      }
      arrivals--;
    }
  } while (arrivals != point->arrivals);
  point->arrivals++;
  point->postponements++;
  own->next = point->waiting;
  point->waiting = own;
  struct timespec deadline = bohr_break_after(pause);
  int late = 0;
  pthread_cleanup_push(bohr_break_cancelled, own);
  while (own->meeting == NULL && !late)
    late = pthread_cond_timedwait(&bohr_break_program.changed, &bohr_break_program.lock,
                                  &deadline) == ETIMEDOUT;
  pthread_cleanup_pop(0);
  bohr_break_leave_list(own);
  if (own->meeting == NULL)
    point->timeouts++;
}

BOHR_BREAK_SHARED void bohr_break_visit(struct bohr_break_visit *visit, const char *name,
                                        const struct bohr_break_side *options) {
  const char *asked = getenv("BOHR_BREAK_PAUSE");
  unsigned pause = asked != NULL ? (unsigned)strtoul(asked, NULL, 10) : options->pause;
  unsigned sides = options->sides < 2 ? 2 : options->sides;
  if (!bohr_break_includes(name) || visit->side >= sides || sides > BOHR_BREAK_MOST_SIDES)
    return;
  pause = pause == 0 ? 100 : pause;
  pthread_mutex_lock(&bohr_break_program.lock);
  struct bohr_break_thread own = {
      NULL, bohr_break_named(name), visit->side, options->object, pthread_self(), NULL, 0};
  if (own.point != NULL && bohr_break_counts(own.point, options))
    bohr_break_wait(&own, sides, pause,
                    options->condition != NULL ? options->condition : bohr_break_same);
  pthread_mutex_unlock(&bohr_break_program.lock);
  visit->meeting = own.meeting;
  if (visit->meeting != NULL)
    bohr_break_take_turn(visit, pause);
}

static inline struct bohr_break_visit
bohr_break_enter(const char *name, unsigned side, const struct bohr_break_side *options) {
  struct bohr_break_visit visit = {NULL, side, 1};
  bohr_break_visit(&visit, name, options);
  return visit;
}

/* The plain call: whether the breakpoint was hit. Nobody knows when the statement
 * behind it is done, so the sides after it wait a millisecond. */
static inline int bohr_break_reach(const char *name, unsigned side,
                                   const struct bohr_break_side *options) {
  struct bohr_break_visit visit = bohr_break_enter(name, side, options);
  int hit = visit.meeting != NULL;
  bohr_break_pass(&visit, 1);
  return hit;
}

static inline void bohr_break_scope_begin(struct bohr_break_scope *scope) {
  scope->outer = bohr_break_scopes;
  bohr_break_scopes = scope;
}

static inline void bohr_break_scope_end(struct bohr_break_scope *scope) {
  struct bohr_break_scope **link = &bohr_break_scopes;
  while (*link != NULL && *link != scope)
    link = &(*link)->outer;
  if (*link == scope)
    *link = scope->outer;
}

#ifdef __cplusplus
}
#endif

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
/* To the end of the enclosing block this thread is in a scope: a calling context,
 * or under a lock. */
#define BOHR_BREAK_SCOPE(name)                                                            \
  struct bohr_break_scope bohr_break_scope_                                               \
      __attribute__((cleanup(bohr_break_scope_end))) = {NULL, name};                      \
  bohr_break_scope_begin(&bohr_break_scope_)

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
#define BOHR_BREAK_SCOPE(name) ((void)0)

#endif

#define BOHR_BREAK_BROUGHT(...) (&(const struct bohr_break_side){.object = __VA_ARGS__})
#define BOHR_BREAK_FIRST(name, ...) BOHR_BREAK_SIDE(name, 0, __VA_ARGS__)
#define BOHR_BREAK_SECOND(name, ...) BOHR_BREAK_SIDE(name, 1, __VA_ARGS__)

#endif
