// An in-memory database: insert, index, select, sort, in a thread of its own, so
// that the program is one whose accesses matter to control.
#include "sqlite3.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int add(void *sum, int columns, char **values, char **names) {
  (void)columns, (void)names;
  *(long *)sum += values[0] ? atol(values[0]) : 0;
  return 0;
}

static void execute(sqlite3 *database, const char *text, long *sum) {
  char *message = 0;
  if (sqlite3_exec(database, text, add, sum, &message)) {
    fprintf(stderr, "%s: %s\n", text, message);
    exit(1);
  }
}

static void insert(sqlite3 *database, int rows) {
  sqlite3_stmt *statement;
  unsigned state = 12345;
  sqlite3_prepare_v2(database, "insert into t(k, name) values(?, ?)", -1, &statement, 0);
  for (int i = 0; i < rows; i++) {
    char name[32];
    state = state * 1664525u + 1013904223u;
    int length = snprintf(name, sizeof name, "name%u", state >> 8);
    sqlite3_bind_int(statement, 1, (int)(state >> 16));
    sqlite3_bind_text(statement, 2, name, length, SQLITE_TRANSIENT);
    sqlite3_step(statement);
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
}

static void *work(void *argument) {
  int rows = *(int *)argument;
  static long sum;
  sqlite3 *database;
  sqlite3_open(":memory:", &database);
  execute(database, "create table t(id integer primary key, k integer, name text)", &sum);
  execute(database, "begin", &sum);
  insert(database, rows);
  execute(database, "commit", &sum);
  execute(database, "create index i on t(k)", &sum);
  for (int i = 0; i < rows / 100; i++) {
    char text[128];
    snprintf(text, sizeof text, "select count(*) from t where k between %d and %d", i * 7, i * 7 + 50);
    execute(database, text, &sum);
  }
  execute(database, "select k from t order by name", &sum);
  execute(database, "select sum(k) from (select k, count(*) c from t group by k order by c desc)", &sum);
  sqlite3_close(database);
  return &sum;
}

int main(int argc, char **argv) {
  int rows = argc > 1 ? atoi(argv[1]) : 1000;
  pthread_t thread;
  void *sum;
  pthread_create(&thread, 0, work, &rows);
  pthread_join(thread, &sum);
  printf("%ld\n", *(long *)sum);
  return 0;
}
