// C11's threads.h.
#include <assert.h>
#include <threads.h>

static mtx_t lock;
static cnd_t changed;
static once_flag flag = ONCE_FLAG_INIT;
static tss_t key;
static int turns, initialised, destroyed;
static thread_local int mine;

static void initialise(void) { initialised++; }
static void destroy(void *value) { destroyed += *(int *)value; }

static int take_turns(void *number) {
    int self = *(int *)number;
    mine = 1;
    call_once(&flag, initialise);
    tss_set(key, &mine);
    assert(mtx_lock(&lock) == thrd_success);
    while (turns != self)
        assert(cnd_wait(&changed, &lock) == thrd_success);
    turns++;
    cnd_broadcast(&changed);
    mtx_unlock(&lock);
    thrd_yield();
    return self + 10;
}

int main(void) {
    mtx_init(&lock, mtx_timed);
    cnd_init(&changed);
    tss_create(&key, destroy);
    thrd_t threads[3];
    int numbers[3] = {2, 1, 0};
    for (int i = 0; i < 3; i++)
        assert(thrd_create(&threads[i], take_turns, &numbers[i]) == thrd_success);
    for (int i = 0; i < 3; i++) {
        int result;
        assert(thrd_join(threads[i], &result) == thrd_success);
        assert(result == numbers[i] + 10);
    }
    assert(turns == 3 && initialised == 1 && destroyed == 3);
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    time.tv_sec += 60;
    mtx_lock(&lock);
    assert(mtx_trylock(&lock) == thrd_busy);
    assert(mtx_timedlock(&lock, &time) == thrd_timedout);
    time.tv_sec += 60;
    assert(cnd_timedwait(&changed, &lock, &time) == thrd_timedout);
    thrd_sleep(&(struct timespec){.tv_sec = 5}, 0);
    return 0;
}
