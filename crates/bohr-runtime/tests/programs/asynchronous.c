// Asynchronous input and output: requests one by one and in lists, and the ways in
// which their end is told.
#define _GNU_SOURCE
#include <aio.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static sem_t told;

static struct aiocb request(int file, void *buffer, size_t length, off_t offset) {
    struct aiocb block;
    memset(&block, 0, sizeof block);
    block.aio_fildes = file;
    block.aio_buf = buffer;
    block.aio_nbytes = length;
    block.aio_offset = offset;
    block.aio_sigevent.sigev_notify = SIGEV_NONE;
    return block;
}

static ssize_t await(struct aiocb *block) {
    const struct aiocb *list[] = {NULL, block};
    while (aio_error(block) == EINPROGRESS)
        assert(aio_suspend(list, 2, NULL) == 0);
    return aio_error(block) == 0 ? aio_return(block) : -aio_error(block);
}

static void *files(void *unused) {
    char path[] = "/tmp/bohr-asynchronous-XXXXXX";
    int file = mkstemp(path);
    assert(file >= 0 && unlink(path) == 0);
    // Two writes of one place: the later one counts.
    struct aiocb first = request(file, "HELLO", 5, 2), second = request(file, "hello", 5, 2);
    struct aiocb sync = request(file, NULL, 0, 0);
    assert(aio_write(&first) == 0 && aio_write(&second) == 0);
    assert(aio_fsync(O_SYNC, &sync) == 0);
    assert(await(&sync) == 0);
    assert(aio_error(&first) == 0 && aio_error(&second) == 0);
    char text[8] = {0};
    struct aiocb read = request(file, text, 5, 2);
    assert(aio_read(&read) == 0 && await(&read) == 5 && strcmp(text, "hello") == 0);
    assert(aio_cancel(file, NULL) == AIO_ALLDONE);
    close(file);
    struct aiocb closed = request(file + 100, text, 5, 0);
    assert(aio_read(&closed) == 0 && await(&closed) == -EBADF);
    assert(aio_cancel(file + 100, NULL) == -1 && errno == EBADF);
    assert(aio_fsync(12345, &closed) == -1 && errno == EINVAL);
    return unused;
}

static void *pipes(void *unused) {
    int ends[2];
    assert(pipe(ends) == 0);
    char text[8] = {0};
    struct aiocb read = request(ends[0], text, 5, 0);
    const struct aiocb *list[] = {&read};
    assert(aio_read(&read) == 0);
    struct timespec span = {.tv_nsec = 1000000};
    assert(aio_suspend(list, 1, &span) == -1 && errno == EAGAIN);
    assert(aio_cancel(ends[0], &read) == AIO_NOTCANCELED);
    assert(write(ends[1], "there", 5) == 5);
    assert(await(&read) == 5 && strcmp(text, "there") == 0);
    close(ends[0]);
    close(ends[1]);
    return unused;
}

static void post(union sigval value) {
    assert(value.sival_int == 7);
    sem_post(&told);
}

static void handle(int number, siginfo_t *info, void *unused) {
    (void)number, (void)unused;
    assert(info->si_value.sival_int == 7);
    sem_post(&told);
}

static void lists(void) {
    int file = memfd_create("list", 0);
    char text[2][4] = {{0}};
    struct aiocb writes[2] = {request(file, "one", 3, 0), request(file, "two", 3, 3)};
    struct aiocb reads[2] = {request(file, text[0], 3, 0), request(file, text[1], 3, 3)};
    struct aiocb *list[3] = {&writes[0], NULL, &writes[1]};
    writes[0].aio_lio_opcode = writes[1].aio_lio_opcode = LIO_WRITE;
    reads[0].aio_lio_opcode = reads[1].aio_lio_opcode = LIO_READ;
    assert(lio_listio(LIO_WAIT, list, 3, NULL) == 0 && aio_return(&writes[1]) == 3);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = post};
    event.sigev_value.sival_int = 7;
    list[0] = &reads[0], list[2] = &reads[1];
    assert(lio_listio(LIO_NOWAIT, list, 3, &event) == 0);
    assert(sem_wait(&told) == 0);
    assert(strcmp(text[0], "one") == 0 && strcmp(text[1], "two") == 0);
    // By a signal, of one request.
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    reads[0].aio_sigevent = event;
    assert(aio_read(&reads[0]) == 0);
    while (sem_wait(&told) == -1)
        assert(errno == EINTR);
    assert(await(&reads[0]) == 3);
    reads[1].aio_fildes = -1;
    list[0] = &reads[1];
    assert(lio_listio(LIO_WAIT, list, 1, NULL) == -1 && errno == EIO);
    close(file);
}

int main(void) {
    pthread_t threads[2];
    sem_init(&told, 0, 0);
    pthread_create(&threads[0], NULL, files, NULL);
    pthread_create(&threads[1], NULL, pipes, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    lists();
    return 0;
}
