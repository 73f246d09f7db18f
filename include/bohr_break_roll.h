/* What bohr_break.h tells threads apart by that run the same code: the order in which
 * they were created, among those who come by. That stays as it is when a program starts
 * other threads as well, or in another order than these. They go on in that order, too, each
 * after a moment: those who were made to wait for others begin as they would have begun. Not
 * for inclusion by anything else.
 */
#ifndef BOHR_BREAK_ROLL_H
#define BOHR_BREAK_ROLL_H

#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

enum { BOHR_BREAK_MOST_ALIKE = 16 };

struct bohr_break_like {
  pthread_t thread;
  long number;
};

/* All of it changes under the lock of the program. */
struct bohr_break_roll {
  struct bohr_break_roll *next;
  char *name;
  unsigned came;
  /* All are there, or nobody waits for the others any longer: who they are is known. */
  int closed;
  /* How many have gone on; who was the last, and the processor time that it had spent then. */
  unsigned turn;
  long gone;
  unsigned long long spent;
  pthread_cond_t changed;
  /* In the order of their creation once it is closed; who comes late is behind. */
  struct bohr_break_like threads[BOHR_BREAK_MOST_ALIKE];
};

BOHR_BREAK_SHARED struct bohr_break_roll *bohr_break_rolls;

/* In the child of a fork, whose threads are others. */
BOHR_BREAK_SHARED void bohr_break_forget_rolls(void) {
  for (struct bohr_break_roll *roll = bohr_break_rolls; roll != NULL; roll = roll->next) {
    roll->came = 0;
    roll->closed = 0;
    roll->turn = 0;
    bohr_break_condition(&roll->changed);
  }
}

/* Under the lock: the roll of this name. */
BOHR_BREAK_SHARED struct bohr_break_roll *bohr_break_roll_named(const char *name) {
  struct bohr_break_roll **end = &bohr_break_rolls;
  for (; *end != NULL; end = &(*end)->next)
    if (strcmp((*end)->name, name) == 0)
      return *end;
  struct bohr_break_roll *roll = (struct bohr_break_roll *)calloc(1, sizeof *roll);
  char *copy = (char *)malloc(strlen(name) + 1);
  if (roll == NULL || copy == NULL) {
    free(roll);
    free(copy);
    return NULL;
  }
  if (bohr_break_rolls == NULL)
    pthread_atfork(NULL, NULL, bohr_break_forget_rolls);
  bohr_break_condition(&roll->changed);
  roll->name = strcpy(copy, name);
  return *end = roll;
}

/* Which of those on the roll a thread is, from 1; 0 for none. */
BOHR_BREAK_SHARED unsigned bohr_break_on_roll(const struct bohr_break_roll *roll,
                                              const struct bohr_break_like *own) {
  for (unsigned place = 0; place < roll->came; place++)
    if (pthread_equal(roll->threads[place].thread, own->thread) &&
        roll->threads[place].number == own->number)
      return place + 1;
  return 0;
}

/* Whether one was created before another. The system's numbers ascend, and begin again
 * from below when they come to their end; none is smaller than the process's before. */
BOHR_BREAK_SHARED int bohr_break_is_older(const struct bohr_break_like *one,
                                          const struct bohr_break_like *other) {
  long begin = (long)getpid();
  if ((one->number < begin) != (other->number < begin))
    return one->number >= begin;
  return one->number < other->number;
}

BOHR_BREAK_SHARED void bohr_break_close_roll(struct bohr_break_roll *roll) {
  if (roll->closed)
    return;
  roll->closed = 1;
  for (unsigned next = 1; next < roll->came; next++) {
    struct bohr_break_like moved = roll->threads[next];
    unsigned place = next;
    for (; place > 0 && bohr_break_is_older(&moved, &roll->threads[place - 1]); place--)
      roll->threads[place] = roll->threads[place - 1];
    roll->threads[place] = moved;
  }
  pthread_cond_broadcast(&roll->changed);
}

BOHR_BREAK_SHARED void bohr_break_let_go(void *lock) {
  pthread_mutex_unlock((pthread_mutex_t *)lock);
}

/* Which of so many threads that come by this one is, from 1, in the order in which they
 * were created; 0 if it is none of them. Who comes before all are there is held up. */
BOHR_BREAK_SHARED unsigned bohr_break_which(const char *name,
                                            const struct bohr_break_alike *alike) {
  const char *asked = getenv("BOHR_BREAK_PAUSE");
  unsigned pause = asked != NULL ? (unsigned)strtoul(asked, NULL, 10) : alike->pause;
  unsigned of = alike->threads;
  pause = pause == 0 ? 100 : pause;
  struct timespec deadline = bohr_break_after(pause);
  struct bohr_break_like own = {pthread_self(), bohr_break_number()};
  if (bohr_break_is_alone())
    return 0;
  int late = 0, cancellable;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
  pthread_mutex_lock(&bohr_break_program.lock);
  struct bohr_break_roll *roll = bohr_break_roll_named(name);
  unsigned which = roll != NULL ? bohr_break_on_roll(roll, &own) : 0;
  if (roll != NULL && which == 0 && roll->came < of && roll->came < BOHR_BREAK_MOST_ALIKE) {
    roll->threads[roll->came++] = own;
    if (roll->came == of)
      bohr_break_close_roll(roll);
    pthread_cleanup_push(bohr_break_let_go, &bohr_break_program.lock);
    pthread_setcancelstate(cancellable, NULL);
    while (!roll->closed && !late)
      late = pthread_cond_timedwait(&roll->changed, &bohr_break_program.lock, &deadline) == ETIMEDOUT;
    bohr_break_close_roll(roll);
    which = bohr_break_on_roll(roll, &own);
    deadline = bohr_break_after(pause);
    for (late = 0; roll->turn + 1 < which && !late;)
      late = pthread_cond_timedwait(&roll->changed, &bohr_break_program.lock, &deadline) == ETIMEDOUT;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cleanup_pop(0);
    long gone = roll->gone;
    unsigned long long spent = roll->spent;
    pthread_mutex_unlock(&bohr_break_program.lock);
    if (which > 1)
      bohr_break_let_run(gone, spent, &deadline);
    pthread_mutex_lock(&bohr_break_program.lock);
    roll->gone = own.number;
    roll->spent = bohr_break_spent(own.number);
    if (roll->turn < which)
      roll->turn = which;
    pthread_cond_broadcast(&roll->changed);
  }
  pthread_mutex_unlock(&bohr_break_program.lock);
  pthread_setcancelstate(cancellable, NULL);
  return which;
}

#ifdef __cplusplus
}
#endif

#endif
