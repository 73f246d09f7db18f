// Waits of the kernel that no descriptor and no word in memory shows: locks on
// files, queues and semaphores; and calls by number.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char path[] = "/tmp/bohr-kernel-waits-XXXXXX";
static int inside, semaphores, messages, ends[2];
static mqd_t queue;

struct message {
    long kind;
    char text;
};

static pthread_t start(void *(*body)(void *)) {
    pthread_t thread;
    assert(pthread_create(&thread, NULL, body, NULL) == 0);
    return thread;
}

// Two descriptions of one file: a thread can lock out its own process.
static void *with_whole_file(void *unused) {
    int file = open(path, O_RDWR);
    assert(flock(file, LOCK_EX) == 0);
    assert(++inside == 1);
    sched_yield();
    assert(flock(file, LOCK_EX | LOCK_NB) == 0);
    inside--;
    assert(flock(file, LOCK_UN) == 0 && close(file) == 0);
    return unused;
}

static void *with_part_of_file(void *unused) {
    int file = open(path, O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 3, .l_len = 4};
    assert(fcntl(file, F_OFD_SETLKW, &lock) == 0);
    assert(++inside == 1);
    sched_yield();
    inside--;
    lock.l_type = F_UNLCK;
    assert(fcntl(file, F_OFD_SETLK, &lock) == 0 && close(file) == 0);
    return unused;
}

static void locks_on_files(void *(*body)(void *)) {
    pthread_t one = start(body), other = start(body);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
}

static void *give(void *unused) {
    struct sembuf up = {0, 1, 0};
    struct message message = {7, 'm'};
    assert(semop(semaphores, &up, 1) == 0);
    assert(msgsnd(messages, &message, 1, 0) == 0);
    assert(mq_send(queue, "q", 1, 0) == 0);
    return unused;
}

static void system_v_and_queues(void) {
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 8};
    struct timespec later, second = {1, 0};
    struct sembuf down = {0, -1, 0}, hasty = {0, -1, IPC_NOWAIT};
    struct message message;
    char text[8];
    semaphores = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
    messages = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    queue = mq_open("/bohr-kernel-waits", O_CREAT | O_RDWR, 0600, &attributes);
    assert(semaphores >= 0 && messages >= 0 && queue >= 0);
    mq_unlink("/bohr-kernel-waits");
    assert(semop(semaphores, &hasty, 1) == -1 && errno == EAGAIN);
    assert(semtimedop(semaphores, &down, 1, &second) == -1 && errno == EAGAIN);
    assert(msgrcv(messages, &message, 1, 0, IPC_NOWAIT) == -1 && errno == ENOMSG);
    clock_gettime(CLOCK_REALTIME, &later);
    later.tv_sec += 3600;
    assert(mq_timedreceive(queue, text, 8, NULL, &later) == -1 && errno == ETIMEDOUT);
    pthread_t giver = start(give);
    assert(mq_receive(queue, text, 8, NULL) == 1 && text[0] == 'q');
    assert(msgrcv(messages, &message, 1, 7, 0) == 1 && message.text == 'm');
    assert(semop(semaphores, &down, 1) == 0);
    pthread_join(giver, NULL);
    mq_close(queue);
    semctl(semaphores, 0, IPC_RMID);
    msgctl(messages, IPC_RMID, NULL);
}

static void *feed(void *unused) {
    assert(write(ends[1], "ab", 2) == 2);
    return unused;
}

static void datagrams(void) {
    char text[4];
    struct iovec piece = {text, sizeof text};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &piece, .msg_iovlen = 1}};
    assert(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
    pthread_t feeder = start(feed);
    assert(recvmmsg(ends[0], &message, 1, 0, NULL) == 1 && message.msg_len == 2);
    pthread_join(feeder, NULL);
}

static void from_pipe_to_pipe(void) {
    int others[2];
    char text[2];
    assert(pipe(ends) == 0 && pipe(others) == 0);
    pthread_t feeder = start(feed);
    assert(splice(ends[0], NULL, others[1], NULL, 2, 0) == 2);
    assert(read(others[0], text, 2) == 2);
    pthread_join(feeder, NULL);
}

static void by_number(void) {
    struct timespec hour = {3600, 0};
    struct pollfd entry = {.events = POLLIN};
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    assert(pipe(ends) == 0);
    entry.fd = ends[0];
    assert(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
    assert(syscall(SYS_ppoll, &entry, 1, &hour, NULL, 8) == 0);
    assert(syscall(SYS_epoll_pwait, epoll, &event, 1, 10, NULL, 8) == 0);
    pthread_t feeder = start(feed);
    assert(syscall(SYS_poll, &entry, 1, -1) == 1);
    assert(syscall(SYS_epoll_wait, epoll, &event, 1, -1) == 1);
    pthread_join(feeder, NULL);
    close(epoll);
}

int main(void) {
    int file = mkstemp(path);
    assert(file >= 0);
    locks_on_files(with_whole_file);
    locks_on_files(with_part_of_file);
    assert(unlink(path) == 0 && close(file) == 0);
    system_v_and_queues();
    datagrams();
    from_pipe_to_pipe();
    by_number();
    return 0;
}
