/* Threads that Python did not start: one only burns CPU, one calls back. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

typedef void (*callback_t)(void);

struct order {
    double cpu_seconds;
    callback_t callback;
    volatile uint64_t result;
};

static double cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Not inlined, so that it has a symbol of its own on the stack. */
__attribute__((noinline)) uint64_t foreign_burn(double cpu_seconds)
{
    uint64_t state = 1;
    double end = cpu_now() + cpu_seconds;
    while (cpu_now() < end)
        for (int i = 0; i < 20000; i++)
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return state;
}

static void *foreign_main(void *argument)
{
    struct order *order = argument;
    if (order->callback)
        order->callback();
    else
        order->result = foreign_burn(order->cpu_seconds);
    return NULL;
}

static void run(double cpu_seconds, callback_t callback)
{
    struct order order = {cpu_seconds, callback, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, foreign_main, &order) != 0)
        abort();
    pthread_join(thread, NULL);
}

/* Start a thread that burns CPU in C alone, and wait for it. */
void run_in_c(double cpu_seconds) { run(cpu_seconds, NULL); }

/* Start a thread that calls `callback`, and wait for it. */
void run_in_python(callback_t callback) { run(0, callback); }
