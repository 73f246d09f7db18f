#include <math.h>

int greet(int n) { return n + (int)cos(0.0 * n); }
