// Lists, a table, texts and a circle; with an argument a few of them are otherwise.
#include <stdlib.h>
#include <string.h>

struct book {
    int year;
    const char *title;
    struct book *next;
    struct book *first;
    unsigned lent : 1;
};

struct shelf {
    struct book *books;
    double height;
    int counts[3];
};

// Books that were given back, from the oldest to the newest.
struct row {
    int *begin;
    int *newest;
    int *end;
};

static struct row given_back;
static struct shelf shelves[4];
static struct shelf *favourite = &shelves[1];
static int visits = 7;

static struct book *add(struct shelf *shelf, int year, const char *title) {
    struct book *book = calloc(1, sizeof *book);
    book->year = year;
    book->title = title;
    book->next = shelf->books;
    shelf->books = book;
    for (struct book *each = book; each != NULL; each = each->next) each->first = book;
    return book;
}

__attribute__((noinline)) static void finish(struct shelf *shelf, int rest) {
    shelf->counts[2] = rest;
    abort();
}

int main(int count, char **words) {
    (void)words;
    char *hole = malloc(count * 1000);
    hole[0] = 1;
    for (int year = 1900; year < 1905; year++) add(&shelves[1], year, "old");
    struct book *book = add(&shelves[2], 2000, count > 1 ? "other" : "same");
    if (count > 1) {
        book->lent = 1;
        shelves[1].books->next->next->year = 1;
        shelves[3].books = NULL;
        shelves[1].height = 2.5;
        visits++;
    } else {
        add(&shelves[3], 2020, "new");
    }
    given_back.begin = calloc(16, sizeof(int));
    given_back.newest = given_back.begin + 2 * count;
    given_back.end = given_back.begin + 8;
    finish(favourite, count);
}
