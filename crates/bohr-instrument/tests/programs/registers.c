// Keeps as many values of as many kinds as possible in registers across
// accesses that have hooks.
#include <stdint.h>
#include <stdio.h>
#include <math.h>

double table[64];
float single[64];
long double wide[16];
int numbers[256];
uint64_t words[64];

__attribute__((noinline)) static double sum(const double *t, int n) {
  double a = 0, b = 1, c = 2, d = 3;
  for (int i = 0; i + 4 <= n; i += 4) { a += t[i]; b -= t[i + 1]; c += t[i + 2] * a; d += t[i + 3] / (b + 100); }
  return a + b + c + d;
}

__attribute__((noinline)) static long double long_sum(const long double *t, int n) {
  long double a = 0, b = 1;
  for (int i = 0; i < n; i++) { a += t[i] * b; b = a - b; }
  return a + b;
}

// A flag that lives from a comparison to a branch over a load.
__attribute__((noinline)) static int branchy(const int *t, int n) {
  int best = 0, sum = 0;
  for (int i = 0; i < n; i++) {
    int v = t[i];
    sum += v > best ? (best = v) : -t[(i * 7) & 255];
    sum += __builtin_add_overflow(v, sum, &sum) ? 1 : 0;
  }
  return sum ^ best;
}

__attribute__((noinline)) static uint64_t carry(const uint64_t *a, uint64_t *out, int n) {
  unsigned long long c = 0;
  for (int i = 0; i < n; i++) { unsigned long long o; out[i] = __builtin_addcll(a[i], ~a[n - 1 - i], c, &o); c = o; }
  return c + out[n / 2];
}

int main(void) {
  for (int i = 0; i < 64; i++) { table[i] = sin(i); single[i] = (float)cos(i); words[i] = (uint64_t)i * 0x9e3779b97f4a7c15u; }
  for (int i = 0; i < 16; i++) wide[i] = 1.0L / (i + 1);
  for (int i = 0; i < 256; i++) numbers[i] = (i * 7919) % 1009 - 500;
  float s = 0;
  for (int i = 0; i < 64; i++) s += single[i] * (float)table[63 - i];
  uint64_t out[64];
  printf("%.17g %.9g %.20Lg %d %llu\n", sum(table, 64), (double)s, long_sum(wide, 16), branchy(numbers, 256),
         (unsigned long long)carry(words, out, 64));
  return 0;
}
