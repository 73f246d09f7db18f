// Two threads of OpenMP that look for the greatest number: one overwrites what the other
// has found since it looked.
#include <assert.h>

int main(void) {
    int greatest = 0;
#pragma omp parallel for num_threads(2)
    for (int number = 1; number <= 8; number++)
        if (number > greatest) // looked
            greatest = number; // written
    assert(greatest == 8);
    return 0;
}
