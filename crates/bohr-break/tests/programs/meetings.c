// Real threads at the breakpoints of bohr_break.h. Pauses are long where a meeting
// is expected, since a meeting ends them, and short where none is.
#define _GNU_SOURCE
#include "bohr_break.h"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 60000, SHORT = 5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char done[64];
static int object, other_object;

static void note(const char *name) {
    pthread_mutex_lock(&lock);
    strcat(done, name);
    pthread_mutex_unlock(&lock);
}

static void together(int count, void *(*const bodies[])(void *)) {
    pthread_t threads[8];
    for (int number = 0; number < count; number++)
        assert(pthread_create(&threads[number], NULL, bodies[number], NULL) == 0);
    for (int number = 0; number < count; number++)
        assert(pthread_join(threads[number], NULL) == 0);
}

static void *first(void *unused) {
    BOHR_BREAK_FIRST("order", &object, .pause = LONG) {
        assert(BOHR_BREAK_HIT);
        usleep(300);
        note("1");
    }
    return unused;
}

// Leaves its block in the middle.
static void *second(void *unused) {
    BOHR_BREAK_SECOND("order", &object, .pause = LONG) {
        note("2");
        return unused;
    }
    return unused;
}

static void order(void) {
    for (int round = 0; round < 50; round++) {
        done[0] = 0;
        together(2, round % 2 ? (void *(*[])(void *)){first, second} : (void *(*[])(void *)){second, first});
        assert(strcmp(done, "12") == 0);
    }
}

static void *apart_first(void *unused) {
    BOHR_BREAK_FIRST("apart", &object, .pause = SHORT) { assert(!BOHR_BREAK_HIT); }
    return unused;
}

static void *apart_second(void *unused) {
    BOHR_BREAK_SECOND("apart", &other_object, .pause = SHORT) { assert(!BOHR_BREAK_HIT); }
    return unused;
}

static int left, right;

static void *cross_first(void *unused) {
    struct bohr_break_locks locks = {&left, &right};
    BOHR_BREAK_FIRST("cross", &locks, .pause = LONG, .condition = bohr_break_crossed) {
        assert(BOHR_BREAK_HIT);
    }
    return unused;
}

static void *cross_second(void *unused) {
    struct bohr_break_locks locks = {&right, &left};
    BOHR_BREAK_SECOND("cross", &locks, .pause = LONG, .condition = bohr_break_crossed) {
        assert(BOHR_BREAK_HIT);
    }
    return unused;
}

static int hits;

static void *some(unsigned side) {
    if (BOHR_BREAK_REACH("some", side, &object, .pause = LONG, .ignore_first = 4, .at_most = 3))
        __atomic_add_fetch(&hits, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void *some_first(void *unused) {
    some(0);
    return unused;
}

static void *some_second(void *unused) {
    some(1);
    return unused;
}

static pthread_barrier_t both;
static int asked;

// Two come at once: neither has met anybody while the other one looks.
static int slowly_met(const void *first, const void *second) {
    if (__atomic_fetch_add(&asked, 1, __ATOMIC_SEQ_CST) < 2)
        pthread_barrier_wait(&both);
    return first == second;
}

static void *bounded(void *side) {
    if (BOHR_BREAK_REACH("bounded", (unsigned)(size_t)side, &object, .pause = LONG, .at_most = 1,
                         .condition = slowly_met))
        __atomic_add_fetch(&hits, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static unsigned long postponements(const char *name);

// There are as many meetings as there may be, however many come at once, and whoever is
// held up then is let go.
static void bound(void) {
    pthread_t threads[4];
    hits = 0;
    assert(pthread_barrier_init(&both, NULL, 2) == 0);
    for (size_t number = 0; number < 4; number++) {
        while (number == 2 && postponements("bounded") < 2)
            usleep(100);
        assert(pthread_create(&threads[number], NULL, bounded, (void *)(number / 2)) == 0);
    }
    for (int number = 0; number < 4; number++)
        assert(pthread_join(threads[number], NULL) == 0);
    assert(hits == 2);
}

static void *side(unsigned number) {
    BOHR_BREAK_SIDE("three", number, &object, .sides = 3, .pause = LONG) {
        char name[2] = {(char)('0' + number), 0};
        assert(BOHR_BREAK_HIT);
        note(name);
    }
    return NULL;
}

static void *side_0(void *unused) { return (void)unused, side(0); }
static void *side_1(void *unused) { return (void)unused, side(1); }
static void *side_2(void *unused) { return (void)unused, side(2); }

static void *context(unsigned number) {
    assert(!BOHR_BREAK_REACH("context", number, &object, .within = "repaint", .pause = LONG));
    assert(!BOHR_BREAK_REACH("context", number, &object, .unless = 1, .pause = LONG));
    BOHR_BREAK_SCOPE("repaint");
    assert(BOHR_BREAK_REACH("context", number, &object, .within = "repaint", .pause = LONG));
    return NULL;
}

static void *context_0(void *unused) { return (void)unused, context(0); }
static void *context_1(void *unused) { return (void)unused, context(1); }

static void *notifies(void *unused) {
    BOHR_BREAK_NOTIFIES("unheard", &object, .pause = LONG) { note("n"); }
    return unused;
}

static void *waits(void *unused) {
    BOHR_BREAK_WAITS("unheard", &object, .pause = LONG) { note("w"); }
    return unused;
}

static pthread_mutex_t caret = PTHREAD_MUTEX_INITIALIZER;

// Somebody else holds the lock for most of that time.
static void *held_0(void *unused) {
    assert(!BOHR_BREAK_REACH("held", 0, &object, .holding = &caret, .pause = LONG));
    pthread_mutex_lock(&caret);
    assert(BOHR_BREAK_REACH("held", 0, &object, .holding = &caret, .pause = LONG));
    BOHR_BREAK_ARTEFACT("held");
    BOHR_BREAK_ARTEFACT("held");
    pthread_mutex_unlock(&caret);
    return unused;
}

static void *held_1(void *unused) {
    assert(BOHR_BREAK_REACH("held", 1, &object, .pause = LONG));
    return unused;
}

// A thread is not cancelled in the middle of a condition, and those it looks at wait
// for its end.
static int slowly(const void *first, const void *second) {
    usleep(20000);
    return first == second;
}

static void *slow_first(void *unused) {
    (void)BOHR_BREAK_REACH("slow", 0, &object, .condition = slowly, .pause = 10);
    return unused;
}

static void *slow_second(void *unused) {
    (void)BOHR_BREAK_REACH("slow", 1, &object, .condition = slowly, .pause = LONG);
    return unused;
}

static void cancelled_condition(void) {
    pthread_t one, other;
    assert(pthread_create(&one, NULL, slow_first, NULL) == 0);
    usleep(2000);
    assert(pthread_create(&other, NULL, slow_second, NULL) == 0);
    usleep(2000);
    pthread_cancel(other);
    assert(pthread_join(one, NULL) == 0);
    assert(pthread_join(other, NULL) == 0);
}

static unsigned long postponements(const char *name) {
    pthread_mutex_lock(&bohr_break_program.lock);
    unsigned long found = bohr_break_named(name)->postponements;
    pthread_mutex_unlock(&bohr_break_program.lock);
    return found;
}

static void *alone(void *unused) {
    BOHR_BREAK_FIRST("cancelled", &object, .pause = LONG) { note("never"); }
    return unused;
}

// A cancelled thread is nobody's partner.
static void cancellation(void) {
    pthread_t thread;
    done[0] = 0;
    assert(pthread_create(&thread, NULL, alone, NULL) == 0);
    while (postponements("cancelled") == 0)
        usleep(100);
    pthread_cancel(thread);
    assert(pthread_join(thread, NULL) == 0);
    assert(!BOHR_BREAK_REACH("cancelled", 1, &object, .pause = SHORT));
    assert(done[0] == 0);
}

static void *one(void *unused) {
    assert(BOHR_BREAK_REACH("one", 0, &object, .pause = LONG, .one_waits = 1));
    return unused;
}

// Who comes to a side where another waits passes, and is no partner of it.
static void one_waits(void) {
    pthread_t thread;
    assert(pthread_create(&thread, NULL, one, NULL) == 0);
    while (postponements("one") == 0)
        usleep(100);
    assert(!BOHR_BREAK_REACH("one", 0, &object, .pause = LONG, .one_waits = 1));
    assert(BOHR_BREAK_REACH("one", 1, &object, .pause = LONG, .one_waits = 1));
    assert(pthread_join(thread, NULL) == 0);
    assert(postponements("one") == 1);
}

// What a thread passes between its own statement and its partner's belongs to the
// meeting: at the later side it does not wait for anybody else.
static void *both_sides(void *unused) {
    int first = BOHR_BREAK_REACH("both", 0, &object, .pause = LONG, .one_waits = 1);
    int second = BOHR_BREAK_REACH("both", 1, &object, .pause = LONG, .one_waits = 1);
    assert(first + second == 1);
    return unused;
}

// However they come, threads are told apart by the order in which they were created.
static void *alike(void *number) {
    if ((size_t)number == 1)
        usleep(3000);
    assert(BOHR_BREAK_WHICH("alike", 3, .pause = LONG) == (unsigned)(size_t)number);
    return NULL;
}

static void *beyond(void *unused) {
    assert(BOHR_BREAK_WHICH("alike", 3, .pause = LONG) == 0);
    assert(BOHR_BREAK_WHICH("lonely", 2, .pause = 2) == 1);
    return unused;
}

static void told_apart(void) {
    pthread_t threads[4];
    for (size_t number = 1; number <= 3; number++)
        assert(pthread_create(&threads[number], NULL, alike, (void *)number) == 0);
    for (int number = 1; number <= 3; number++)
        pthread_join(threads[number], NULL);
    assert(pthread_create(&threads[0], NULL, beyond, NULL) == 0);
    pthread_join(threads[0], NULL);
    bohr_break_disarm();
    assert(BOHR_BREAK_WHICH("asleep", 2, .pause = LONG) == 0);
    bohr_break_arm();
}

// Whoever is cancelled while it waits for the others holds nobody else up.
static void *waits_for_others(void *unused) {
    (void)BOHR_BREAK_WHICH("cancelled", 2, .pause = LONG);
    return unused;
}

static void cancelled_on_a_roll(void) {
    pthread_t thread;
    void *end;
    assert(pthread_create(&thread, NULL, waits_for_others, NULL) == 0);
    usleep(3000);
    assert(pthread_cancel(thread) == 0 && pthread_join(thread, &end) == 0);
    assert(end == PTHREAD_CANCELED);
    assert(!BOHR_BREAK_REACH("free", 0, &object, .pause = SHORT));
}

static void *in_crowd(void *argument) {
    unsigned number = (unsigned)(size_t)argument;
    for (unsigned round = 0; round < 100; round++)
        if (BOHR_BREAK_REACH("crowd", (number * 31 + round * 7) % 2, &object, .pause = 1))
            __atomic_add_fetch(&hits, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void crowd(void) {
    pthread_t threads[8];
    hits = 0;
    for (size_t number = 0; number < 8; number++)
        assert(pthread_create(&threads[number], NULL, in_crowd, (void *)number) == 0);
    for (int number = 0; number < 8; number++)
        pthread_join(threads[number], NULL);
    printf("crowd %d\n", hits);
}

int main(void) {
    bohr_break_arm();
    // Nobody can come to the only thread, so it is not held up.
    assert(!BOHR_BREAK_REACH("lone", 0, &object, .pause = LONG));
    assert(postponements("lone") == 0);
    order();
    together(2, (void *(*[])(void *)){apart_first, apart_second});
    together(2, (void *(*[])(void *)){cross_first, cross_second});
    for (int round = 0; round < 8; round++)
        together(2, (void *(*[])(void *)){some_first, some_second});
    assert(hits == 6);
    bound();
    for (int round = 0; round < 10; round++) {
        done[0] = 0;
        together(3, (void *(*[])(void *)){side_2, side_0, side_1});
        assert(strcmp(done, "012") == 0);
    }
    together(2, (void *(*[])(void *)){context_0, context_1});
    done[0] = 0;
    together(2, (void *(*[])(void *)){waits, notifies});
    assert(strcmp(done, "nw") == 0);
    together(2, (void *(*[])(void *)){held_0, held_1});
    cancellation();
    cancelled_condition();
    one_waits();
    together(2, (void *(*[])(void *)){both_sides, both_sides});
    told_apart();
    cancelled_on_a_roll();
    crowd();
    return 0;
}
