// What the kernel keeps accounts of, printed: in every run the same.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <time.h>

static void *look(void *unused) {
    struct tms used;
    struct rusage usage;
    struct sysinfo machine;
    struct timespec time;
    clockid_t clock;
    unsigned processor, node;
    double load[3];
    assert(getrusage(RUSAGE_SELF, &usage) == 0 && sysinfo(&machine) == 0);
    assert(getcpu(&processor, &node) == 0 && getloadavg(load, 3) == 3);
    assert(getrusage(12345, &usage) == -1);
    assert(pthread_getcpuclockid(pthread_self(), &clock) == 0);
    assert(clock_gettime(clock, &time) == 0);
    printf("%ld %ld ", (long)times(&used), (long)used.tms_utime);
    printf("%ld %ld %ld ", usage.ru_utime.tv_usec, usage.ru_maxrss, usage.ru_minflt);
    printf("%u %u %d %g ", processor, node, sched_getcpu(), load[0]);
    printf("%ld %lu %d %ld\n", machine.uptime, machine.freeram, machine.procs, time.tv_nsec);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (volatile int busy = 0; busy < 1000000; busy++) continue;
    for (int each = 0; each < 2; each++) pthread_create(&threads[each], NULL, look, NULL);
    for (int each = 0; each < 2; each++) pthread_join(threads[each], NULL);
    return 0;
}
