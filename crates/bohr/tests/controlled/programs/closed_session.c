// A session is closed while its user, who has just looked whether it is open, is
// about to read from it.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
    long id;
    long requests[7];
};

static _Atomic(struct session *) current;
static atomic_int looked;
static long seen;

static void *use(void *unused) {
    struct session *own = atomic_load(&current);
    atomic_store(&looked, 1);
    if (own != NULL)
        seen = own->requests[6]; // used
    return unused;
}

static void *close_session(void *unused) {
    while (!atomic_load(&looked))
        usleep(1000);
    usleep(200000);
    struct session *own = atomic_exchange(&current, NULL);
    free(own); // closed
    return unused;
}

int main(void) {
    pthread_t user, closer;
    struct session *session = calloc(1, sizeof *session);
    session->requests[5] = 1; // opened
    atomic_store(&current, session);
    pthread_create(&user, NULL, use, NULL);
    pthread_create(&closer, NULL, close_session, NULL);
    pthread_join(user, NULL);
    pthread_join(closer, NULL);
    printf("%ld requests\n", seen);
    return 0;
}
