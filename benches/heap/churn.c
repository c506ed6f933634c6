/* Threads of C that allocate and free: what a native library does all day. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIVE = 256 };

struct work {
    uint64_t pairs;
    int times;
};

static void *churn(void *argument)
{
    const struct work *work = argument;
    void *kept[LIVE] = {0};
    uint32_t state = 1;
    for (uint64_t i = 0; i < work->pairs; i++) {
        state = state * 1664525u + 1013904223u;
        size_t size = 16 + (state >> 22);
        free(kept[i % LIVE]);
        kept[i % LIVE] = malloc(size);
        for (int time = 0; time < work->times && kept[i % LIVE] != NULL; time++)
            memset(kept[i % LIVE], (int)i + time, size);
    }
    for (int i = 0; i < LIVE; i++)
        free(kept[i]);
    return NULL;
}

/* Allocate and free `pairs` blocks on each of `threads` threads; write each `times` times. */
void churn_in_threads(int threads, uint64_t pairs, int times)
{
    struct work work = {pairs, times};
    pthread_t handles[64];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&handles[i], NULL, churn, &work) != 0)
            abort();
    for (int i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
}

/* Nanoseconds of CPU that one pair takes on this thread. */
double pair_ns(uint64_t pairs)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (uint64_t i = 0; i < pairs; i++) {
        void *volatile block = malloc(64);
        free(block);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (double)pairs;
}
