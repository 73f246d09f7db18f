// A server starts and the first clients log in at once. Each session is linked
// into a list while it lasts; a monitor walks the list and adds up something
// about the users.
//
//     server-start [clients] [logins per client]

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct session {
    _Atomic(const char *) user;
    struct session *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *sessions;
static long logins;

static void link_session(struct session *session)
{
    pthread_mutex_lock(&lock);
    session->next = sessions;
    sessions = session;
    pthread_mutex_unlock(&lock);
}

static void unlink_session(struct session *session)
{
    pthread_mutex_lock(&lock);
    struct session **link = &sessions;
    while (*link != session)
        link = &(*link)->next;
    *link = session->next;
    pthread_mutex_unlock(&lock);
}

static void authenticate(struct session *session)
{
    atomic_store(&session->user, "root"); // marker: user-set
}

static void *log_in(void *argument)
{
    (void)argument;
    for (long i = 0; i < logins; i++) {
        struct session session = {0};
#ifdef FIXED
        authenticate(&session);
        link_session(&session);
#else
        link_session(&session);
        authenticate(&session);
#endif
        unlink_session(&session);
    }
    return NULL;
}

static void *monitor(void *argument)
{
    long *initials = argument;
    for (long i = 0; i < logins; i++) {
        pthread_mutex_lock(&lock);
        for (struct session *session = sessions; session != NULL; session = session->next) {
            const char *user = atomic_load(&session->user); // marker: user-read
            *initials += user[0];                           // marker: user-used
        }
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long clients = argc > 1 ? atol(argv[1]) : 2;
    logins = argc > 2 ? atol(argv[2]) : 5;

    long initials = 0;
    pthread_t observer, threads[clients];
    pthread_create(&observer, NULL, monitor, &initials);
    for (long i = 0; i < clients; i++)
        pthread_create(&threads[i], NULL, log_in, NULL);
    for (long i = 0; i < clients; i++)
        pthread_join(threads[i], NULL);
    pthread_join(observer, NULL);
    printf("%ld logins, initials add up to %ld\n", clients * logins, initials);
}
