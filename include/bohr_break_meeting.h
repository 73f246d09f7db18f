/* What bohr_break.h consists of where breakpoints are compiled in: who waits where,
 * who meets, whose turn it is, and what is told about it. Not for inclusion by
 * anything else; bohr_break.h says how breakpoints are used.
 */
#ifndef BOHR_BREAK_MEETING_H
#define BOHR_BREAK_MEETING_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What warnings a project asks for is a matter of its own code. */
#pragma GCC system_header

#ifdef __has_include
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define BOHR_BREAK_KNOWS_THREADS
#endif
#endif

#if defined(__STRICT_ANSI__) && (!defined(_POSIX_C_SOURCE) || _POSIX_C_SOURCE < 200112L)
#error "bohr_break.h needs POSIX: compile with -std=gnu11, or define _DEFAULT_SOURCE first"
#endif
#if defined(__SANITIZE_ADDRESS__)
#define BOHR_BREAK_KNOWS_FREED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BOHR_BREAK_KNOWS_FREED 1
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One of each in the program and its libraries, however many files include this one,
 * whatever else they keep to themselves. */
#define BOHR_BREAK_SHARED __attribute__((weak, visibility("default")))

enum { BOHR_BREAK_MOST_SIDES = 16 };

struct bohr_break_meeting {
  /* Of the same breakpoint; under the lock of the program, as its threads are. */
  struct bohr_break_meeting *next;
  struct bohr_break_point *point;
  pthread_t threads[BOHR_BREAK_MOST_SIDES];
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* Sides that are done, that have begun, that there are, that have not come to their end. */
  unsigned turn, begun, sides, left;
  /* Whether who went last may still be at its statement; who that is, and the
   * processor time that it had spent then. */
  int unsettled;
  long gone;
  unsigned long long spent;
};

struct bohr_break_thread {
  struct bohr_break_thread *next;
  struct bohr_break_point *point;
  unsigned side;
  const void *object;
  pthread_t thread;
  struct bohr_break_meeting *meeting;
  /* Told when it has met somebody. */
  pthread_cond_t met;
  /* Looked at without the lock by this many threads. */
  unsigned looked_at;
  /* Hits after which nobody waits here any more; 0 for no bound. */
  unsigned long at_most;
  /* Whether it could be cancelled when it came. */
  int cancellable;
};

struct bohr_break_point {
  struct bohr_break_point *next;
  char *name;
  struct bohr_break_thread *waiting;
  /* Of which not all sides have come to their end. */
  struct bohr_break_meeting *meetings;
  unsigned long arrivals, passed, visits, postponements, hits, timeouts, artefacts;
  double first_hit;
};

/* Of the whole program: few threads come here, so one lock is enough. */
struct bohr_break_program {
  pthread_mutex_t lock;
  /* Told when a thread is not looked at any more. */
  pthread_cond_t changed;
  struct bohr_break_point *points;
  struct timespec begin;
};

struct bohr_break_scope {
  struct bohr_break_scope *outer;
  const char *name;
};

BOHR_BREAK_SHARED int bohr_break_state; /* 0 unknown, 1 asleep, 2 armed */
/* Whether the C library knows what is to be done at a fork and at the end. */
BOHR_BREAK_SHARED int bohr_break_registered;
BOHR_BREAK_SHARED struct bohr_break_program bohr_break_program = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, {0, 0}};
/* The scopes that this thread is in, the innermost first. */
BOHR_BREAK_SHARED __thread struct bohr_break_scope *bohr_break_scopes;

BOHR_BREAK_SHARED struct timespec bohr_break_after(unsigned milliseconds) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  time.tv_sec += milliseconds / 1000;
  time.tv_nsec += milliseconds % 1000 * 1000000L;
  if (time.tv_nsec >= 1000000000L) {
    time.tv_sec++;
    time.tv_nsec -= 1000000000L;
  }
  return time;
}

BOHR_BREAK_SHARED int bohr_break_is_before(const struct timespec *time) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec < time->tv_sec ||
         (now.tv_sec == time->tv_sec && now.tv_nsec < time->tv_nsec);
}

/* A condition whose waits end on time, whatever is done to the time of day. */
BOHR_BREAK_SHARED void bohr_break_condition(pthread_cond_t *condition) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

/* Seconds since the first armed visit. */
BOHR_BREAK_SHARED double bohr_break_elapsed(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - bohr_break_program.begin.tv_sec) +
         (double)(now.tv_nsec - bohr_break_program.begin.tv_nsec) / 1e9;
}

/* Errors that were counted, or hits where none was. */
BOHR_BREAK_SHARED unsigned long bohr_break_errors(const struct bohr_break_point *point) {
  return point->artefacts > 0 ? point->artefacts : point->hits;
}

BOHR_BREAK_SHARED void bohr_break_print_name(const char *name) {
  for (const char *letter = name; *letter != 0; letter++) {
    if (*letter == '"' || *letter == '\\')
      fputc('\\', stderr);
    if ((unsigned char)*letter < ' ')
      fprintf(stderr, "\\u%04x", (unsigned char)*letter);
    else
      fputc(*letter, stderr);
  }
}

BOHR_BREAK_SHARED void bohr_break_print_json(const struct bohr_break_point *point) {
  fputs("{\"name\":\"", stderr);
  bohr_break_print_name(point->name);
  fprintf(stderr, "\",\"visits\":%lu,\"postponements\":%lu,\"hits\":%lu,\"timeouts\":%lu,",
          point->visits, point->postponements, point->hits, point->timeouts);
  if (point->hits > 0)
    fprintf(stderr, "\"seconds_to_first_hit\":%.6f,", point->first_hit);
  else
    fputs("\"seconds_to_first_hit\":null,", stderr);
  fprintf(stderr, "\"artefacts\":%lu,\"mean_time_to_error\":", point->artefacts);
  if (bohr_break_errors(point) > 0)
    fprintf(stderr, "%.6f}", bohr_break_elapsed() / (double)bohr_break_errors(point));
  else
    fputs("null}", stderr);
}

BOHR_BREAK_SHARED void bohr_break_print_text(const struct bohr_break_point *point) {
  fprintf(stderr, "breakpoint %s: %lu visits, %lu postponed, %lu hits, %lu timed out",
          point->name, point->visits, point->postponements, point->hits, point->timeouts);
  if (point->hits > 0)
    fprintf(stderr, ", first hit after %.6f s", point->first_hit);
  if (bohr_break_errors(point) > 0)
    fprintf(stderr, ", mean time to error %.6f s",
            bohr_break_elapsed() / (double)bohr_break_errors(point));
  fputc('\n', stderr);
}

/* The summary, on standard error. */
BOHR_BREAK_SHARED void bohr_break_print(void) {
  const char *form = getenv("BOHR_BREAK_SUMMARY");
  int json = form != NULL && strcmp(form, "json") == 0;
  pthread_mutex_lock(&bohr_break_program.lock);
  if (json)
    fputs("[", stderr);
  for (const struct bohr_break_point *point = bohr_break_program.points; point != NULL;
       point = point->next) {
    if (json)
      bohr_break_print_json(point);
    else
      bohr_break_print_text(point);
    if (json && point->next != NULL)
      fputc(',', stderr);
  }
  if (json)
    fputs("]\n", stderr);
  pthread_mutex_unlock(&bohr_break_program.lock);
}

/* A fork leaves the other threads behind, wherever they are: none of the library's
 * locks may be theirs then. */
BOHR_BREAK_SHARED void bohr_break_before_fork(void) {
  pthread_mutex_lock(&bohr_break_program.lock);
  for (struct bohr_break_point *point = bohr_break_program.points; point != NULL; point = point->next)
    for (struct bohr_break_meeting *meeting = point->meetings; meeting != NULL; meeting = meeting->next)
      pthread_mutex_lock(&meeting->lock);
}

BOHR_BREAK_SHARED void bohr_break_after_fork(void) {
  for (struct bohr_break_point *point = bohr_break_program.points; point != NULL; point = point->next)
    for (struct bohr_break_meeting *meeting = point->meetings; meeting != NULL; meeting = meeting->next)
      pthread_mutex_unlock(&meeting->lock);
  pthread_mutex_unlock(&bohr_break_program.lock);
}

/* In the child, where nobody waits but its only thread, and whoever that has met is gone.
 * Conditions remember those who waited, so they are made anew. */
BOHR_BREAK_SHARED void bohr_break_forked(void) {
  static const pthread_cond_t nobody_waits = PTHREAD_COND_INITIALIZER;
  for (struct bohr_break_point *point = bohr_break_program.points; point != NULL; point = point->next) {
    struct bohr_break_meeting **link = &point->meetings;
    point->waiting = NULL;
    while (*link != NULL) {
      struct bohr_break_meeting *meeting = *link;
      int own = 0;
      for (unsigned side = 0; side < meeting->sides; side++)
        own = own || pthread_equal(meeting->threads[side], pthread_self());
      pthread_mutex_unlock(&meeting->lock);
      bohr_break_condition(&meeting->changed);
      meeting->unsettled = 0;
      meeting->left = 1;
      /* Whoever else knows of it is gone. */
      if (own)
        link = &meeting->next;
      else
        *link = meeting->next;
    }
  }
  bohr_break_program.changed = nobody_waits;
  pthread_mutex_unlock(&bohr_break_program.lock);
}

BOHR_BREAK_SHARED void bohr_break_arm(void) {
  __atomic_store_n(&bohr_break_state, 2, __ATOMIC_SEQ_CST);
  if (__atomic_exchange_n(&bohr_break_registered, 1, __ATOMIC_SEQ_CST))
    return;
  pthread_atfork(bohr_break_before_fork, bohr_break_after_fork, bohr_break_forked);
  if (getenv("BOHR_BREAK_SUMMARY") != NULL)
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

#ifdef BOHR_BREAK_KNOWS_FREED
int __asan_address_is_poisoned(const volatile void *address);
#endif

/* Without the lock: whether two threads meet, by what they brought. */
BOHR_BREAK_SHARED int bohr_break_ask(const struct bohr_break_point *point,
                                     int (*condition)(const void *, const void *),
                                     const void *first, const void *second) {
#ifdef BOHR_BREAK_KNOWS_FREED
  int gone = (first != NULL && __asan_address_is_poisoned(first)) ||
             (second != NULL && __asan_address_is_poisoned(second));
  if (gone && condition != bohr_break_same) {
    fprintf(stderr,
            "breakpoint %s: what a thread brought was freed while it was held up; its "
            "condition does not hold\n",
            point->name);
    return 0;
  }
#endif
  (void)point;
  return condition(first, second);
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
      fits = bohr_break_ask(one->point, condition, first, second);
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

/* Under the lock: takes a thread out of its list, once nobody looks at it. */
BOHR_BREAK_SHARED void bohr_break_leave_list(struct bohr_break_thread *own) {
  while (own->looked_at > 0)
    pthread_cond_wait(&bohr_break_program.changed, &bohr_break_program.lock);
  struct bohr_break_thread **link = &own->point->waiting;
  while (*link != NULL && *link != own)
    link = &(*link)->next;
  if (*link == own)
    *link = own->next;
  pthread_cond_destroy(&own->met);
}

/* The system's number of this thread; 0 where there is no Linux to tell. */
BOHR_BREAK_SHARED long bohr_break_number(void) {
  char link[64];
  ssize_t length = readlink("/proc/thread-self", link, sizeof link - 1);
  link[length < 0 ? 0 : length] = 0;
  const char *number = strrchr(link, '/');
  return number != NULL ? atol(number + 1) : 0;
}

/* Nanoseconds that a thread has spent on a processor; 0 if nobody can tell. The clock
 * of a thread is its number, turned round, and what kind of clock it is. */
BOHR_BREAK_SHARED unsigned long long bohr_break_spent(long thread) {
  struct timespec time = {0, 0};
  if (thread == 0 || clock_gettime((clockid_t)(~(int)thread * 8 | 6), &time) != 0)
    return 0;
  return (unsigned long long)time.tv_sec * 1000000000ULL + (unsigned long long)time.tv_nsec;
}

/* Whether a thread could run, and has not run for as long as a statement takes. */
BOHR_BREAK_SHARED int bohr_break_is_late(long thread, unsigned long long spent) {
  char text[128];
  unsigned long long time = bohr_break_spent(thread);
  if (time == 0 || time >= spent + 20000)
    return 0;
  snprintf(text, sizeof text, "/proc/self/task/%ld/stat", thread);
  FILE *file = fopen(text, "r");
  size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file != NULL)
    fclose(file);
  text[length] = 0;
  const char *behind_name = strrchr(text, ')');
  return behind_name != NULL && strncmp(behind_name, ") R", 3) == 0;
}

/* Gives a thread that went on a millisecond, and on a busy machine until it has run, or waits. */
BOHR_BREAK_SHARED void bohr_break_let_run(long gone, unsigned long long spent,
                                          const struct timespec *deadline) {
  int runs = 1;
  while (runs) {
    struct timespec settling = {0, 1000000};
    nanosleep(&settling, NULL);
    runs = bohr_break_is_before(deadline) && bohr_break_is_late(gone, spent);
  }
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
  meeting->gone = unsettled ? bohr_break_number() : 0;
  meeting->spent = unsettled ? bohr_break_spent(meeting->gone) : 0;
  int last = --meeting->left == 0;
  pthread_cond_broadcast(&meeting->changed);
  pthread_mutex_unlock(&meeting->lock);
  if (last) {
    pthread_mutex_lock(&bohr_break_program.lock);
    struct bohr_break_meeting **link = &meeting->point->meetings;
    while (*link != meeting)
      link = &(*link)->next;
    *link = meeting->next;
    pthread_mutex_unlock(&bohr_break_program.lock);
    pthread_cond_destroy(&meeting->changed);
    pthread_mutex_destroy(&meeting->lock);
    free(meeting);
  }
}

/* A thread is cancelled while it is held up; its partners go on. */
BOHR_BREAK_SHARED void bohr_break_cancelled(void *argument) {
  struct bohr_break_thread *own = (struct bohr_break_thread *)argument;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
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
  int late = 0;
  pthread_mutex_lock(&meeting->lock);
  while (meeting->turn < visit->side && !late)
    late = pthread_cond_timedwait(&meeting->changed, &meeting->lock, &deadline) == ETIMEDOUT;
  int unsettled = visit->side > 0 && meeting->unsettled;
  long gone = meeting->gone;
  unsigned long long spent = meeting->spent;
  pthread_mutex_unlock(&meeting->lock);
  if (unsettled)
    bohr_break_let_run(gone, spent, &deadline);
  pthread_mutex_lock(&meeting->lock);
  meeting->begun = visit->side + 1;
  pthread_mutex_unlock(&meeting->lock);
}

/* Under the lock: whether this thread holds a mutex. */
BOHR_BREAK_SHARED int bohr_break_is_held(pthread_mutex_t *mutex) {
#ifdef __GLIBC__
  /* A mutex knows its owner, and this thread owns the library's. */
  return mutex->__data.__owner == bohr_break_program.lock.__data.__owner;
#else
  /* Somebody does. */
  if (pthread_mutex_trylock(mutex) != 0)
    return 1;
  pthread_mutex_unlock(mutex);
  return 0;
#endif
}

/* Under the lock: whether this thread has met others there at another side, and is at its
 * statement, or was a moment ago and the side after its own has not begun. That it comes
 * by belongs to that meeting: it meets nobody else there. */
BOHR_BREAK_SHARED int bohr_break_is_meeting(const struct bohr_break_point *point, unsigned own) {
  int found = 0;
  struct bohr_break_meeting *meeting = point->meetings;
  for (; meeting != NULL && !found; meeting = meeting->next) {
    pthread_mutex_lock(&meeting->lock);
    for (unsigned side = 0; side < meeting->sides; side++)
      if (side != own && pthread_equal(meeting->threads[side], pthread_self()))
        found = meeting->turn <= side || (meeting->unsettled && meeting->begun <= side + 1);
    pthread_mutex_unlock(&meeting->lock);
  }
  return found;
}

/* Under the lock: whether there will be no further meeting. */
BOHR_BREAK_SHARED int bohr_break_is_asleep(const struct bohr_break_point *point,
                                           unsigned long at_most) {
  return at_most != 0 && point->hits >= at_most;
}

/* Under the lock: whether this visit is one that counts. */
BOHR_BREAK_SHARED int bohr_break_counts(struct bohr_break_point *point, unsigned side,
                                        const struct bohr_break_side *options) {
  point->visits++;
  if (options->unless || (options->holding != NULL && !bohr_break_is_held(options->holding)) ||
      (options->within != NULL && !bohr_break_is_within(options->within)))
    return 0;
  if (point->passed < options->ignore_first) {
    point->passed++;
    return 0;
  }
  return !bohr_break_is_asleep(point, options->at_most) && !bohr_break_is_meeting(point, side);
}

/* Under the lock: those who have met, or nothing. */
BOHR_BREAK_SHARED struct bohr_break_meeting *
bohr_break_meet(struct bohr_break_thread *chosen[], unsigned sides) {
  struct bohr_break_meeting *meeting = (struct bohr_break_meeting *)calloc(1, sizeof *meeting);
  if (meeting == NULL)
    return NULL;
  pthread_mutex_init(&meeting->lock, NULL);
  bohr_break_condition(&meeting->changed);
  meeting->sides = meeting->left = sides;
  struct bohr_break_point *point = chosen[0]->point;
  meeting->point = point;
  meeting->next = point->meetings;
  point->meetings = meeting;
  for (unsigned number = 0; number < sides; number++)
    meeting->threads[chosen[number]->side] = chosen[number]->thread;
  chosen[0]->meeting = meeting;
  for (unsigned number = 1; number < sides; number++) {
    chosen[number]->meeting = meeting;
    pthread_cond_signal(&chosen[number]->met);
  }
  if (point->hits++ == 0)
    point->first_hit = bohr_break_elapsed();
  /* Whoever waits for a meeting that there will not be goes on. */
  for (struct bohr_break_thread *other = point->waiting; other != NULL; other = other->next)
    if (other->meeting == NULL && bohr_break_is_asleep(point, other->at_most))
      pthread_cond_signal(&other->met);
  return meeting;
}

/* Whether there has been no other thread in the process, as far as the C library
 * tells. */
BOHR_BREAK_SHARED int bohr_break_is_alone(void) {
#ifdef BOHR_BREAK_KNOWS_THREADS
  return __libc_single_threaded;
#else
  return 0;
#endif
}

/* Under the lock: whether somebody waits there already. */
BOHR_BREAK_SHARED int bohr_break_is_taken(const struct bohr_break_thread *own) {
  const struct bohr_break_thread *other = own->point->waiting;
  for (; other != NULL; other = other->next)
    if (other->side == own->side && other->object == own->object && other->meeting == NULL)
      return 1;
  return 0;
}

/* Under the lock: looks for partners, then waits for them. */
BOHR_BREAK_SHARED void bohr_break_wait(struct bohr_break_thread *own, unsigned sides,
                                       unsigned pause, int one_waits,
                                       int (*condition)(const void *, const void *)) {
  struct bohr_break_thread *chosen[BOHR_BREAK_MOST_SIDES] = {own};
  struct bohr_break_point *point = own->point;
  unsigned long arrivals;
  do {
    arrivals = point->arrivals;
    int complete = bohr_break_choose(chosen, 1, sides, condition);
    /* While conditions were evaluated others may have met for the last time. */
    if (bohr_break_is_asleep(point, own->at_most))
      return;
    if (complete) {
      /* Or taken one of these. */
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
  if ((one_waits && bohr_break_is_taken(own)) || bohr_break_is_alone())
    return;
  point->arrivals++;
  point->postponements++;
  own->next = point->waiting;
  point->waiting = own;
  bohr_break_condition(&own->met);
  struct timespec deadline = bohr_break_after(pause);
  int late = 0;
  pthread_cleanup_push(bohr_break_cancelled, own);
  pthread_setcancelstate(own->cancellable, NULL);
  while (own->meeting == NULL && !late && !bohr_break_is_asleep(point, own->at_most))
    late = pthread_cond_timedwait(&own->met, &bohr_break_program.lock, &deadline) == ETIMEDOUT;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  pthread_cleanup_pop(0);
  bohr_break_leave_list(own);
  if (own->meeting == NULL && late)
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
  struct bohr_break_thread own;
  memset(&own, 0, sizeof own);
  /* Nothing of the library's is left half done by a cancelled thread: it is cancelled
   * only while it waits for partners. */
  int at_once;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &own.cancellable);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &at_once);
  pthread_mutex_lock(&bohr_break_program.lock);
  own.point = bohr_break_named(name);
  own.side = visit->side;
  own.object = options->object;
  own.at_most = options->at_most;
  own.thread = pthread_self();
  if (own.point != NULL && bohr_break_counts(own.point, own.side, options))
    bohr_break_wait(&own, sides, pause, options->one_waits,
                    options->condition != NULL ? options->condition : bohr_break_same);
  pthread_mutex_unlock(&bohr_break_program.lock);
  visit->meeting = own.meeting;
  if (visit->meeting != NULL)
    bohr_break_take_turn(visit, pause);
  pthread_setcanceltype(at_once, NULL);
  pthread_setcancelstate(own.cancellable, NULL);
}

/* An error that can be seen has come of a breakpoint. */
BOHR_BREAK_SHARED void bohr_break_artefact(const char *name) {
  pthread_mutex_lock(&bohr_break_program.lock);
  struct bohr_break_point *point = bohr_break_named(name);
  if (point != NULL)
    point->artefacts++;
  pthread_mutex_unlock(&bohr_break_program.lock);
}

static inline struct bohr_break_visit
bohr_break_enter(const char *name, unsigned side, const struct bohr_break_side *options) {
  struct bohr_break_visit visit = {NULL, side, 1};
  bohr_break_visit(&visit, name, options);
  return visit;
}

/* The plain call: whether the breakpoint was hit. Nobody knows when the statement
 * behind it is done, so the sides after it wait a millisecond, and on a busy machine until
 * its thread has run or waits for somebody. */
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

#include "bohr_break_roll.h"

#endif
