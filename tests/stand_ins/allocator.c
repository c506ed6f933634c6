/* An allocator that a test preloads in place of the C library's.
 *
 * Each block has a head that says whose it is. A block of another allocator that comes
 * here, and one that comes twice, ends the program: so whoever mixes allocators is told. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void __libc_free(void *block);

struct head {
    void *raw;
    size_t size;
    uint64_t mark;
    uint64_t unused;
};

/* One that lacks a part of what an allocator is. */
#ifdef INCOMPLETE
#define memalign own_memalign
#endif

static const uint64_t LIVE = 0x5ca1ab1e0ddba11ull;

static struct head *head_of(void *block)
{
    struct head *head = (struct head *)block - 1;
    if (head->mark != LIVE) {
        static const char text[] = "stand-in allocator: a block that is not its own\n";
        (void)!write(2, text, sizeof text - 1);
        _exit(99);
    }
    return head;
}

void *memalign(size_t align, size_t size)
{
    if (align < 16)
        align = 16;
    size_t more = align + sizeof(struct head);
    if (size > PTRDIFF_MAX - more) {
        errno = ENOMEM;
        return NULL;
    }
    char *raw = __libc_malloc(size + more);
    if (raw == NULL)
        return NULL;
    uintptr_t at = ((uintptr_t)raw + more - 1) & ~(uintptr_t)(align - 1);
    struct head *head = (struct head *)at - 1;
    *head = (struct head){raw, size, LIVE, 0};
    return (void *)at;
}

void *malloc(size_t size)
{
    return memalign(16, size);
}

void free(void *block)
{
    if (block == NULL)
        return;
    struct head *head = head_of(block);
    head->mark = 0;
    __libc_free(head->raw);
}

void *calloc(size_t count, size_t size)
{
    size_t whole;
    if (__builtin_mul_overflow(count, size, &whole)) {
        errno = ENOMEM;
        return NULL;
    }
    void *block = malloc(whole);
    if (block != NULL)
        memset(block, 0, whole);
    return block;
}

void *realloc(void *block, size_t size)
{
    if (block == NULL)
        return malloc(size);
    size_t held = head_of(block)->size;
    void *moved = malloc(size);
    if (moved != NULL) {
        memcpy(moved, block, held < size ? held : size);
        free(block);
    }
    return moved;
}

void *reallocarray(void *block, size_t count, size_t size)
{
    size_t whole;
    if (__builtin_mul_overflow(count, size, &whole)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, whole);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    void *block = memalign(align, size);
    if (block == NULL)
        return ENOMEM;
    *out = block;
    return 0;
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

void *valloc(size_t size)
{
    return memalign(4096, size);
}

void *pvalloc(size_t size)
{
    return memalign(4096, (size + 4095) & ~(size_t)4095);
}

size_t malloc_usable_size(void *block)
{
    return block == NULL ? 0 : head_of(block)->size;
}
