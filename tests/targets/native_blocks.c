/* Memory that only C knows about: kept, grown and freed on request. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20 };

static void *kept[MOST];
static size_t count;

/* Not inlined, so that it has a symbol of its own on the stack. */
__attribute__((noinline)) void *native_make(size_t size)
{
    void *block = malloc(size);
    if (block == NULL)
        abort();
    memset(block, 1, size);
    return block;
}

/* Keep `number` blocks of `size` bytes. */
void native_keep(size_t number, size_t size)
{
    for (size_t i = 0; i < number && count < MOST; i++)
        kept[count++] = native_make(size);
}

/* Give every block a new size. */
void native_resize(size_t size)
{
    for (size_t i = 0; i < count; i++) {
        kept[i] = realloc(kept[i], size);
        if (kept[i] == NULL)
            abort();
    }
}

/* Free everything. */
void native_drop(void)
{
    while (count > 0)
        free(kept[--count]);
}

struct order {
    size_t number, size;
};

static void *main_of_thread(void *argument)
{
    struct order *order = argument;
    native_keep(order->number, order->size);
    return NULL;
}

/* The same as `native_keep`, on a thread that Python never sees. */
void native_keep_in_thread(size_t number, size_t size)
{
    struct order order = {number, size};
    pthread_t thread;
    if (pthread_create(&thread, NULL, main_of_thread, &order) != 0)
        abort();
    pthread_join(thread, NULL);
}

static struct order at_fork;

static void before_fork(void)
{
    native_keep_in_thread(at_fork.number, at_fork.size);
}

/* The same before each fork from now on, which waits for the thread. */
void native_keep_at_fork(size_t number, size_t size)
{
    at_fork = (struct order){number, size};
    if (pthread_atfork(before_fork, NULL, NULL) != 0)
        abort();
}
