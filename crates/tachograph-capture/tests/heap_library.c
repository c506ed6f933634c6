// Allocates in every way there is and keeps the blocks until free_all().
// Each function answers how many bytes it asked for.

#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST 200000
#define SIZE 1000
static void *kept[MOST];
static unsigned count;
static char *mapped;

__attribute__((noinline)) static void keep(void *block, size_t size) {
    memset(block, 1, size);
    kept[__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) % MOST] = block;
}

#define WAY(name, expression)                                   \
    __attribute__((noinline)) uint64_t name(uint64_t blocks) {  \
        for (uint64_t i = 0; i < blocks; i++) {                 \
            void *block = 0;                                    \
            expression;                                         \
            keep(block, SIZE);                                  \
        }                                                       \
        return blocks * SIZE;                                   \
    }

WAY(by_malloc, block = malloc(SIZE))
WAY(by_calloc, block = calloc(10, SIZE / 10))
WAY(by_realloc, block = realloc(realloc(malloc(100), 5000), SIZE))
WAY(by_reallocarray, block = reallocarray(NULL, SIZE / 10, 10))
WAY(by_memalign, block = memalign(64, SIZE))
WAY(by_posix_memalign, if (posix_memalign(&block, 128, SIZE)) return 0)
WAY(by_aligned_alloc, block = aligned_alloc(32, 992 + 8))
WAY(by_valloc, block = valloc(SIZE))

// Through pointers in data, as tables of functions have them.
static void *(*const table[])(size_t) = {malloc, malloc, malloc};
static void *(*volatile changing)(size_t) = malloc;
WAY(by_table, block = i % 2 ? table[i % 3](SIZE) : changing(SIZE))

uint64_t free_all(uint64_t unused) {
    unsigned all = count < MOST ? count : MOST;
    for (unsigned i = 0; i < all; i++) free(kept[i]);
    count = 0;
    return unused;
}

__attribute__((noinline)) uint64_t large_block(uint64_t size) {
    kept[count++] = malloc(size);
    return size;
}

__attribute__((noinline)) uint64_t map_and_cut(uint64_t size) {
    mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(mapped + size / 4, size / 4);
    return size;
}

// A mapping that is made twice as long, and may move for that.
__attribute__((noinline)) uint64_t map_and_grow(uint64_t size) {
    mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped = mremap(mapped, size, 2 * size, MREMAP_MAYMOVE);
    return mapped == MAP_FAILED ? 0 : 2 * size;
}

// The same length again elsewhere, at a place that held another mapping.
__attribute__((noinline)) uint64_t map_over(uint64_t size) {
    char *place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped = mremap(mapped, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    return mapped == place ? size : 0;
}

uint64_t unmap_rest(uint64_t size) {
    munmap(mapped, size);
    return 0;
}

uint64_t keeps_errno(uint64_t blocks) {
    for (uint64_t i = 0; i < blocks; i++) {
        errno = 77;
        void *block = malloc(200);
        block = realloc(block, 3000);
        free(block);
        if (errno != 77) return 0;
    }
    return 1;
}

static pthread_key_t key;

static void at_end(void *block) {
    free(block);
    free(malloc(300));
}

__attribute__((noinline)) static void *thread_main(void *unused) {
    for (int i = 0; i < 10; i++) keep(malloc(SIZE), SIZE);
    pthread_setspecific(key, malloc(50));
    return unused;
}

uint64_t in_threads(uint64_t threads) {
    pthread_key_create(&key, at_end);
    for (uint64_t i = 0; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, thread_main, NULL);
        pthread_join(thread, NULL);
    }
    return threads * 10 * SIZE;
}

// Mappings of four pages, each with a page between it and the next.
__attribute__((noinline)) uint64_t map_many(uint64_t mappings) {
    uint64_t stride = 5 * 4096;
    mapped = mmap(NULL, mappings * stride, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint64_t i = 0; i < mappings; i++)
        mmap(mapped + i * stride, 4 * 4096, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return mappings * 4 * 4096;
}

uint64_t unmap_many(uint64_t mappings) {
    munmap(mapped, mappings * 5 * 4096);
    return 0;
}
