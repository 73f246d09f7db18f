// flags: -O1 -g -fno-inline -pthread
#include <dlfcn.h>
#include <pthread.h>

/* Threads start in ways that no call names: what is written after them is not
 * written before threads. */
static int before_all, after_unknown, after_alias;
static pthread_t thread;

static void *worker(void *argument) {
    return (void *)(long)(before_all + after_unknown + after_alias); //~ WrittenBeforeThreads shared
}

void start(void) { pthread_create(&thread, 0, worker, 0); }
void begin(void) __attribute__((alias("start")));

static void configure(void) {
    begin();
    after_alias = 3; //~ shared
}

int main(void) {
    void (*hook)(void) = (void (*)(void))dlsym(0, "hook");
    before_all = 1; //~ WrittenBeforeThreads
    if (hook) hook();
    after_unknown = 2; //~ shared
    configure();
    return 0;
}
