/* Stands in for the CUDA driver: streams that work through what they are told
 * in order, side by side, on the real clock. An event on a stream happens when
 * the work before it is done.
 *
 * A test is the program: it makes the context and launches work through the
 * functions called stand_in_*. Environment:
 *   STAND_IN_FAIL   name=code,name=code: functions that answer with a code
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned long long u64;
enum { SUCCESS, INVALID_VALUE, NOT_INITIALIZED = 3, INVALID_CONTEXT = 201, NOT_READY = 600 };
enum { MOST_STREAMS = 64, DEVICES = 2 };

struct stream {
    u64 free_at;
    int capturing;
};
struct event {
    u64 at;
};

static struct stream streams[MOST_STREAMS]; /* 0 is the default stream */
static int made_streams = 1;
static int initialized, primary[DEVICES];
static int contexts[DEVICES]; /* their addresses are the contexts */
static __thread void *current;
static char broken[256];
static u64 init_calls, context_calls, live_events, waits;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static u64 now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (u64)time.tv_sec * 1000000000ULL + (u64)time.tv_nsec;
}

static void sleep_until(u64 at)
{
    if (now() >= at)
        return; /* asking the kernel takes 50 us even then */
    struct timespec time = {(time_t)(at / 1000000000ULL), (long)(at % 1000000000ULL)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0)
        ;
}

static int listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return atoi(at + length + 1);
    return 0;
}

static int answer(const char *name)
{
    int code = listed(getenv("STAND_IN_FAIL"), name);
    if (!code)
        code = listed(broken, name);
    if (!code && !initialized)
        code = NOT_INITIALIZED;
    return code;
}

#define ANSWER() do { int code = answer(__func__); if (code) return code; } while (0)
#define NEEDS_CONTEXT() do { if (!current) return INVALID_CONTEXT; } while (0)

static struct stream *stream_of(void *handle) { return handle ? handle : &streams[0]; }

/* Driven by tests: the program's own use of the driver. */
void stand_in_break(const char *list) { snprintf(broken, sizeof broken, "%s", list); }
void stand_in_make_context(int device)
{
    initialized = 1;
    primary[device] = 1;
    current = &contexts[device];
}
void stand_in_leave_context(void) { current = NULL; }
void *stand_in_make_stream(void) { return &streams[made_streams++]; }
void stand_in_capture(void *handle, int on) { stream_of(handle)->capturing = on; }
u64 stand_in_inits(void) { return init_calls; }
u64 stand_in_contexts(void) { return context_calls; }
u64 stand_in_live_events(void) { return live_events; }
u64 stand_in_waits(void) { return waits; }

/* A kernel that takes `ns`; the call returns at once, as a launch does. */
void stand_in_launch(void *handle, u64 ns)
{
    pthread_mutex_lock(&lock);
    struct stream *stream = stream_of(handle);
    u64 start = now();
    if (stream->free_at > start)
        start = stream->free_at;
    stream->free_at = start + ns;
    pthread_mutex_unlock(&lock);
}

int cuInit(unsigned flags)
{
    (void)flags;
    init_calls++;
    initialized = 1;
    return SUCCESS;
}

int cuCtxGetCurrent(void **context)
{
    ANSWER();
    *context = current;
    return SUCCESS;
}

int cuCtxPushCurrent_v2(void *context)
{
    ANSWER();
    if (current)
        return INVALID_CONTEXT; /* one is enough for a stand-in */
    current = context;
    return SUCCESS;
}

int cuCtxPopCurrent_v2(void **context)
{
    ANSWER();
    *context = current;
    current = NULL;
    return SUCCESS;
}

int cuCtxGetDevice(int *device)
{
    ANSWER();
    NEEDS_CONTEXT();
    *device = (int)((int *)current - contexts);
    return SUCCESS;
}

int cuCtxSynchronize(void)
{
    ANSWER();
    NEEDS_CONTEXT();
    waits++;
    for (int at = 0; at < made_streams; at++) {
        if (streams[at].capturing)
            return 900;
        sleep_until(streams[at].free_at);
    }
    return SUCCESS;
}

int cuDeviceGet(int *device, int ordinal)
{
    ANSWER();
    if (ordinal < 0 || ordinal >= DEVICES)
        return 101;
    *device = ordinal;
    return SUCCESS;
}

int cuDeviceGetPCIBusId(char *text, int length, int device)
{
    ANSWER();
    /* The program sees the devices in the other order. */
    snprintf(text, (size_t)length, "0000:%02x:00.0", 0x42 - device);
    return SUCCESS;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    ANSWER();
    *flags = 0;
    *active = primary[device] > 0;
    return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    ANSWER();
    if (!primary[device])
        context_calls++;
    primary[device]++;
    *context = &contexts[device];
    return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    ANSWER();
    primary[device]--;
    return SUCCESS;
}

int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    (void)flags;
    context_calls++;
    *context = &contexts[device];
    return SUCCESS;
}

int cuStreamIsCapturing(void *handle, unsigned *status)
{
    ANSWER();
    *status = (unsigned)stream_of(handle)->capturing;
    return SUCCESS;
}

int cuThreadExchangeStreamCaptureMode(unsigned *mode)
{
    static __thread unsigned mine;
    ANSWER();
    unsigned before = mine;
    mine = *mode;
    *mode = before;
    return SUCCESS;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    ANSWER();
    NEEDS_CONTEXT();
    (void)flags;
    *stream = stand_in_make_stream();
    return SUCCESS;
}

int cuEventCreate(struct event **event, unsigned flags)
{
    ANSWER();
    NEEDS_CONTEXT();
    (void)flags;
    *event = calloc(1, sizeof **event);
    __sync_fetch_and_add(&live_events, 1);
    return SUCCESS;
}

int cuEventRecord(struct event *event, void *handle)
{
    ANSWER();
    NEEDS_CONTEXT();
    pthread_mutex_lock(&lock);
    u64 free_at = stream_of(handle)->free_at;
    event->at = now();
    if (free_at > event->at)
        event->at = free_at;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

int cuEventSynchronize(struct event *event)
{
    ANSWER();
    waits++;
    sleep_until(event->at);
    return SUCCESS;
}

int cuEventQuery(struct event *event)
{
    ANSWER();
    return now() >= event->at ? SUCCESS : NOT_READY;
}

int cuEventElapsedTime(float *ms, struct event *start, struct event *end)
{
    ANSWER();
    if (now() < start->at || now() < end->at)
        return NOT_READY;
    *ms = (float)(((double)end->at - (double)start->at) / 1e6);
    return SUCCESS;
}

int cuEventDestroy_v2(struct event *event)
{
    ANSWER();
    free(event);
    __sync_fetch_and_sub(&live_events, 1);
    return SUCCESS;
}
