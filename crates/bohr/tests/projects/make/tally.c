#include <stdatomic.h>

static atomic_int sum;

void tally(int n) { atomic_fetch_add(&sum, n); }
int total(void) { return sum + 2; }
