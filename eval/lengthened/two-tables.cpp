// two-tables, after orders that were placed one by one.
//
//     two-tables [clerks] [orders per clerk] [rounds before]

#define main exhibit_main
#include "../../museum/two-tables/main.cpp"
#include "preceding.h"

static Database *database_before;

static void begin_work() {
    database_before = new Database;
}

static void round_of_work(long number) {
    // The shop is small: every hundred orders it begins a new book.
    if (number % 100 == 99) {
        delete database_before;
        database_before = new Database;
    }
    place(*database_before, static_cast<int>(number));
}

static void end_work() {
    delete database_before;
}
