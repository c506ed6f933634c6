// Everything around an allocator that can go wrong at the same time, in threads
// that Python does not know: libraries come and go, threads end with destructors
// that allocate, children are forked, and the loader's list is walked.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_LIBRARIES = 16, WINDOW = 512 };

static char *libraries[MOST_LIBRARIES];
static int library_count;
static volatile int stopping;
static volatile uint64_t opened, forked, allocated, threads, walked, stuck, hung, failed, damaged;
static pthread_t running[16];
static int running_count;
static pthread_key_t key;
// The C library does not make its loader's locks usable in a forked child, with or
// without us. So a child that loads something is made while nobody of the storm is in
// the loader. Threads that Python starts are there for a moment too; a child that hits
// it is `stuck`, which is told and is no fault. One that loads nothing must never hang.
static pthread_rwlock_t loader = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static unsigned next(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// Blocks of this thread, each filled with one byte: what comes back must be what was put there.
static __thread struct {
    unsigned char *block;
    size_t size;
    unsigned char fill;
} window[WINDOW];

static void check(const unsigned char *block, size_t size, unsigned char fill) {
    if (block[0] != fill || block[size / 2] != fill || block[size - 1] != fill)
        __atomic_fetch_add(&damaged, 1, __ATOMIC_RELAXED);
}

static void release(unsigned at) {
    if (window[at].block) check(window[at].block, window[at].size, window[at].fill);
    free(window[at].block);
    window[at].block = NULL;
}

static void free_window(void) {
    for (unsigned at = 0; at < WINDOW; at++) release(at);
}

static void some_blocks(unsigned *state, int rounds) {
    for (int i = 0; i < rounds; i++) {
        unsigned at = next(state) % WINDOW, kind = next(state) % 16;
        size_t size = next(state) % 2000 + 1;
        if (kind == 0) size *= 100;
        void *block = NULL;
        if (kind < 4 && window[at].block) {
            block = realloc(window[at].block, size);
            if (!block) continue;
            check(block, size < window[at].size ? size : window[at].size, window[at].fill);
        } else {
            release(at);
            if (kind < 6) block = calloc(1, size);
            else if (kind > 6) block = malloc(size);
            else if (posix_memalign(&block, 64, size)) block = NULL;
            if (block && kind < 6) check(block, size, 0);
        }
        window[at].block = block;
        window[at].size = size;
        window[at].fill = (unsigned char)next(state);
        if (block) memset(block, window[at].fill, size);
        __atomic_fetch_add(&allocated, 1, __ATOMIC_RELAXED);
    }
    if (next(state) % 64 == 0) {
        size_t length = (next(state) % 64 + 1) * 65536;
        char *map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map != MAP_FAILED) {
            munmap(map, 4096);
            munmap(map + 4096, length - 4096);
        }
    }
    if (next(state) % 8 == 0) free_window();
}

// As threads of many libraries do. What the recorder reads there may fault all the same.
static void block_signals(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static void *churn(void *seed) {
    unsigned state = (unsigned)(uintptr_t)seed;
    while (!stopping) some_blocks(&state, 200);
    free_window();
    return NULL;
}

static void *come_and_go(void *seed) {
    unsigned state = (unsigned)(uintptr_t)seed;
    if (state % 2 == 0) block_signals();
    while (!stopping) {
        pthread_rwlock_rdlock(&loader);
        int lazy = next(&state) % 2;
        void *library =
            dlopen(libraries[next(&state) % library_count], lazy ? RTLD_LAZY : RTLD_NOW);
        if (library) {
            uint64_t (*work)(uint64_t) = (uint64_t(*)(uint64_t))dlsym(library, "storm_work");
            if (work) work(50);
            dlclose(library);
            __atomic_fetch_add(&opened, 1, __ATOMIC_RELAXED);
        } else {
            __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
        }
        pthread_rwlock_unlock(&loader);
    }
    return NULL;
}

static void at_end(void *block) {
    free(block);
    for (int i = 0; i < 20; i++) free(malloc(300 + i * 50));
}

static void *short_life(void *seed) {
    unsigned state = (unsigned)(uintptr_t)seed;
    if (state % 2 == 0) block_signals();
    some_blocks(&state, 30);
    free_window();
    pthread_setspecific(key, malloc(100));
    return NULL;
}

static void *thread_churn(void *seed) {
    unsigned state = (unsigned)(uintptr_t)seed;
    while (!stopping) {
        pthread_t made[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&made[i], NULL, short_life, (void *)(uintptr_t)next(&state));
        for (int i = 0; i < 4; i++) pthread_join(made[i], NULL);
        __atomic_fetch_add(&threads, 4, __ATOMIC_RELAXED);
    }
    return NULL;
}

// Waits for a child, for half a minute at most, then counts it in `late`.
static void reap(pid_t child, volatile uint64_t *late) {
    int status;
    for (int i = 0; i < 30000; i++) {
        pid_t done = waitpid(child, &status, WNOHANG);
        if (done == child) {
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
            return;
        }
        if (done < 0 && errno != EINTR) return;
        struct timespec wait = {0, 1000000};
        nanosleep(&wait, NULL);
    }
    __atomic_fetch_add(late, 1, __ATOMIC_RELAXED);
    kill(child, 9);
    waitpid(child, &status, 0);
}

static void *fork_and_exec(void *seed) {
    unsigned state = (unsigned)(uintptr_t)seed;
    char *command[] = {"/bin/true", NULL};
    while (!stopping) {
        unsigned kind = next(&state) % 8;
        pid_t child;
        if (kind == 0) {
            pthread_rwlock_wrlock(&loader);
            child = fork();
            if (child == 0) {
                void *library = dlopen(libraries[0], RTLD_NOW);
                if (library) dlclose(library);
                _exit(library ? 0 : 1);
            }
            pthread_rwlock_unlock(&loader);
        } else if (kind < 4) {
            child = fork();
            if (child == 0) {
                for (int i = 0; i < 200; i++) some_blocks(&state, 1);
                _exit(damaged != 0);
            }
        } else if (kind < 6) {
            child = fork();
            if (child == 0) {
                execv(command[0], command);
                _exit(1);
            }
        } else {
            child = vfork();
            if (child == 0) {
                execv(command[0], command);
                _exit(1);
            }
        }
        if (child > 0) {
            reap(child, kind == 0 ? &stuck : &hung);
            __atomic_fetch_add(&forked, 1, __ATOMIC_RELAXED);
        }
        some_blocks(&state, 10);
    }
    free_window();
    return NULL;
}

static int look(struct dl_phdr_info *info, size_t size, void *count) {
    (void)info, (void)size;
    ++*(uint64_t *)count;
    return 0;
}

static void *walk_list(void *unused) {
    while (!stopping) {
        uint64_t count = 0;
        pthread_rwlock_rdlock(&loader);
        dl_iterate_phdr(look, &count);
        pthread_rwlock_unlock(&loader);
        __atomic_fetch_add(&walked, 1, __ATOMIC_RELAXED);
        struct timespec wait = {0, 2000000};
        nanosleep(&wait, NULL);
    }
    return unused;
}

// Each look-up makes the recorder look for new libraries, if it is not looking already.
static void *ask_for_symbols(void *unused) {
    while (!stopping) {
        pthread_rwlock_rdlock(&loader);
        for (int i = 0; i < 20; i++)
            if (!dlsym(RTLD_DEFAULT, "qsort")) __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
        pthread_rwlock_unlock(&loader);
        struct timespec wait = {0, 50000};
        nanosleep(&wait, NULL);
    }
    return unused;
}

static void begin(void *(*work)(void *), uintptr_t seed) {
    pthread_create(&running[running_count++], NULL, work, (void *)seed);
}

void storm_begin(char **names, int count) {
    for (int i = 0; i < count && i < MOST_LIBRARIES; i++) libraries[library_count++] = strdup(names[i]);
    pthread_key_create(&key, at_end);
    begin(come_and_go, 11);
    begin(come_and_go, 22);
    begin(churn, 33);
    begin(thread_churn, 44);
    begin(fork_and_exec, 55);
    begin(walk_list, 66);
    begin(ask_for_symbols, 0);
    begin(ask_for_symbols, 0);
}

void storm_end(uint64_t *counts) {
    stopping = 1;
    for (int i = 0; i < running_count; i++) pthread_join(running[i], NULL);
    uint64_t all[] = {opened, forked, allocated, threads, walked, stuck, hung, failed, damaged};
    memcpy(counts, all, sizeof all);
}
