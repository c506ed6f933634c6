// A library that allocates through calls and through tables of pointers, some of
// them large and some of them read-only once the loader is done.

#include <stdint.h>
#include <stdlib.h>

#ifndef POINTERS
#define POINTERS 4
#endif

typedef void *(*allocate)(size_t);
typedef void (*release)(void *);

#define TEN(x) x, x, x, x, x, x, x, x, x, x
#define HUNDRED(x) TEN(x), TEN(x), TEN(x), TEN(x), TEN(x), TEN(x), TEN(x), TEN(x), TEN(x), TEN(x)
#define THOUSAND(x)                                                                            \
    HUNDRED(x), HUNDRED(x), HUNDRED(x), HUNDRED(x), HUNDRED(x), HUNDRED(x), HUNDRED(x),        \
        HUNDRED(x), HUNDRED(x), HUNDRED(x)

#if POINTERS > 1000
static allocate const fixed[] = {THOUSAND(malloc), THOUSAND(malloc), THOUSAND(malloc)};
static release changing[] = {THOUSAND(free), THOUSAND(free), THOUSAND(free)};
#else
static allocate const fixed[] = {malloc, malloc};
static release changing[] = {free, free};
#endif

uint64_t storm_work(uint64_t rounds) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        volatile allocate const *from = fixed;
        void *block = i % 2 ? malloc(200 + i) : from[i % (sizeof fixed / sizeof *fixed)](100 + i);
        block = realloc(block, 3000);
        sum += (uintptr_t)block & 1;
        volatile release *to = changing;
        if (i % 3) free(block);
        else to[i % (sizeof changing / sizeof *changing)](block);
    }
    return sum;
}
