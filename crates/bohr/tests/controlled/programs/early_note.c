// A producer that announces its work and notes it afterwards, and a consumer that notes
// what it got. The producer's note must not come first; but the consumer cannot come
// before all of the producer.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t announced;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int notes[2], count;

static void note(int text) {
    pthread_mutex_lock(&lock);
    notes[count++] = text;
    pthread_mutex_unlock(&lock);
}

static void *produce(void *argument) {
    sem_post(&announced);
    note(2); // marker: too early
    return argument;
}

static void *consume(void *argument) {
    sem_wait(&announced);
    note(1);
    return argument;
}

int main(void) {
    pthread_t producer, consumer;
    sem_init(&announced, 0, 0);
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    assert(notes[0] == 1);
    return 0;
}
