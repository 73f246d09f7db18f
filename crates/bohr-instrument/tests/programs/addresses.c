// Tells each address that it is about to touch, so that a log of hooks can be
// held against it. Every kind of address that code can form is here.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int global;
_Thread_local int local;
struct pair { int a, b; } pairs[8];
_Atomic long counter;
volatile short port;

static void expect(const char *what, const volatile void *address, size_t size) {
  printf("%s %p %zu\n", what, address, size);
}

__attribute__((noinline)) static void use(volatile char *p) { __asm__ volatile("" : : "r"(p) : "memory"); }

__attribute__((noinline)) static int leaf(int *p, long i) { return p[i] + p[i + 1]; }

int main(int argc, char **argv) {
  long n = argc;
  char slots[64];
  use(slots);
  expect("write", &global, 4);
  global = 1;
  expect("write", &local, 4);
  local = 2;
  expect("write", &pairs[n].b, 4);
  pairs[n].b = 3;
  expect("write", &slots[n * 4], 1);
  slots[n * 4] = 5;
  use(slots);
  int *heap = malloc(64);
  use((char *)heap);
  expect("read", &heap[n], 4);
  expect("read", &heap[n + 1], 4);
  heap[8] = leaf(heap, n);
  expect("update", &counter, 8);
  atomic_fetch_add(&counter, 1);
  expect("write", &port, 2);
  port = 1;
  expect("range", &pairs[2], (size_t)n * 16);
  memset(&pairs[2], 1, n * 16);
  use((char *)pairs);
  expect("copy", &pairs[4], sizeof(struct pair) * n);
  memcpy(&pairs[4], &pairs[2], sizeof(struct pair) * n);
  use((char *)pairs);
  expect("copy", slots, 24);
  memcpy(slots, argv[0], 24);
  use(slots);
  return 0;
}
