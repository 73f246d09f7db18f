// What a thread has written is known to whoever hears of the descriptor that it registers
// for it.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

struct session {
    int descriptor;
    int kind;
};

static int all, ends[2];
static struct session session;

static void *work(void *unused) {
    struct epoll_event event;
    assert(epoll_wait(all, &event, 1, -1) == 1);
    struct session *found = event.data.ptr;
    char letter;
    assert(found->kind == 7 && read(found->descriptor, &letter, 1) == 1);
    return unused;
}

int main(void) {
    pthread_t thread;
    all = epoll_create1(0);
    assert(pipe(ends) == 0 && write(ends[1], "!", 1) == 1);
    pthread_create(&thread, NULL, work, NULL);
    session = (struct session){ends[0], 7};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &session};
    assert(epoll_ctl(all, EPOLL_CTL_ADD, ends[0], &event) == 0);
    pthread_join(thread, NULL);
    return 0;
}
