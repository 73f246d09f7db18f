// Two threads that take two locks in opposite orders. One of them may wait until the other
// one says that it is done; how, the argument tells.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;

static struct state {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int ready;
    int stopped;
} state = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static int open_at_first = 1;
static atomic_int flag;

static const char *way;

static bool is(const char *name) { return strcmp(way, name) == 0; }

static void tell(int *variable, int value) {
    pthread_mutex_lock(&state.lock);
    *variable = value;
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
}

static void count(void) {
    pthread_mutex_lock(&state.lock);
    state.ready++;
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
}

static void wait_for(struct state *of) {
    pthread_mutex_lock(&of->lock);
    while (!of->ready) pthread_cond_wait(&of->changed, &of->lock);
    pthread_mutex_unlock(&of->lock);
}

static void wait_for_either(struct state *of) {
    pthread_mutex_lock(&of->lock);
    while (!of->ready && !of->stopped) pthread_cond_wait(&of->changed, &of->lock);
    pthread_mutex_unlock(&of->lock);
}

static void wait_open(void) {
    pthread_mutex_lock(&state.lock);
    while (open_at_first == 0) pthread_cond_wait(&state.changed, &state.lock);
    pthread_mutex_unlock(&state.lock);
}

static void wait_once(struct state *of) {
    pthread_mutex_lock(&of->lock);
    if (!of->ready) pthread_cond_wait(&of->changed, &of->lock);
    pthread_mutex_unlock(&of->lock);
}

static void wait_or_give_up(struct state *of) {
    pthread_mutex_lock(&of->lock);
    struct timespec past = {1, 0};
    while (!of->ready)
        if (pthread_cond_timedwait(&of->changed, &of->lock, &past)) break;
    pthread_mutex_unlock(&of->lock);
}

static void poll_for(struct state *of) {
    pthread_mutex_lock(&of->lock);
    while (of->ready < 1) {
        pthread_mutex_unlock(&of->lock);
        usleep(10);
        pthread_mutex_lock(&of->lock);
    }
    pthread_mutex_unlock(&of->lock);
}

static void spin(void) {
    while (atomic_load_explicit(&flag, memory_order_relaxed) != 1) usleep(1);
}

static void acquire(void) {
    while (!atomic_load_explicit(&flag, memory_order_acquire)) usleep(1);
}

static void cross(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *rightwards(void *argument) {
    if (is("told-before")) tell(&state.ready, 1);
    if (is("counted")) count();
    if (is("open")) tell(&open_at_first, 0);
    cross(&left, &right);
    if (is("counted")) count();
    else if (is("open")) tell(&open_at_first, 1);
    else if (is("spins")) atomic_store_explicit(&flag, 1, memory_order_relaxed);
    else if (is("acquires")) atomic_store_explicit(&flag, 1, memory_order_release);
    else if (!is("told-before")) tell(&state.ready, 1);
    return argument;
}

static void *leftwards(void *argument) {
    struct state *of = argument;
    if (is("polls")) poll_for(of);
    else if (is("spins")) spin();
    else if (is("acquires")) acquire();
    else if (is("either") || is("stopped")) wait_for_either(of);
    else if (is("open")) wait_open();
    else if (is("once")) wait_once(of);
    else if (is("gives-up")) wait_or_give_up(of);
    else if (!is("never")) wait_for(of);
    cross(&right, &left);
    return argument;
}

/* Somebody else who lets it go on. */
static void *helps(void *argument) {
    if (is("stopped")) tell(&state.stopped, 1);
    else if (is("helped")) tell(&state.ready, 1);
    return argument;
}

int main(int count, char **words) {
    way = count > 1 ? words[1] : "waits";
    pthread_t one, other, helper;
    pthread_create(&one, NULL, rightwards, NULL);
    pthread_create(&other, NULL, leftwards, &state);
    pthread_create(&helper, NULL, helps, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    pthread_join(helper, NULL);
    return 0;
}
