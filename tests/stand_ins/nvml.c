/* Stands in for NVIDIA's management library: two devices that behave like
 * hardware. Energy grows with the clock, memory follows what the program
 * allocates on it, and every function can be made to fail.
 *
 * A test drives it through the functions called stand_in_*, in the process
 * that uses it. Environment:
 *   STAND_IN_DEVICES   how many devices there are; 2 by default
 *   STAND_IN_FAIL      name=code,name=code: functions that answer with a code
 * Built with -DOLD_DRIVER it lacks what drivers before 2021 lack.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, INSUFFICIENT_SIZE = 7, MOST = 8 };

static const unsigned long long TOTAL = 8ULL << 30, KEPT = 512ULL << 20, OTHERS = 1ULL << 30;
static const unsigned MILLIWATTS = 150000;

struct device {
    unsigned long long allocated;
    unsigned busy, number;
};

static struct device devices[MOST];
static int ready;
static unsigned long long calls, readings;
static char broken[256];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int device_count(void)
{
    const char *given = getenv("STAND_IN_DEVICES");
    int count = given ? atoi(given) : 2;
    return count > MOST ? MOST : count;
}

/* What `list` says of `name`: a code, or 0. */
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
    __sync_fetch_and_add(&calls, 1);
    int code = listed(getenv("STAND_IN_FAIL"), name);
    if (!code)
        code = listed(broken, name);
    if (!code)
        code = listed(broken, "*");
    if (!code && !ready && strcmp(name, "nvmlInit_v2") != 0)
        code = UNINITIALIZED;
    return code;
}

#define ANSWER() do { int code = answer(__func__); if (code) return code; } while (0)

/* Driven by tests. */
void stand_in_allocate(int device, long long bytes)
{
    pthread_mutex_lock(&lock);
    devices[device].allocated += bytes;
    pthread_mutex_unlock(&lock);
}
void stand_in_busy(int device, unsigned percent) { devices[device].busy = percent; }
void stand_in_break(const char *list) { snprintf(broken, sizeof broken, "%s", list); }
unsigned long long stand_in_calls(void) { return calls; }
/* How often the first device was asked for its memory: once in each reading. */
unsigned long long stand_in_readings(void) { return readings; }

int nvmlInit_v2(void)
{
    ANSWER();
    for (unsigned number = 0; number < MOST; number++)
        devices[number].number = number;
    ready = 1;
    return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *text, unsigned length)
{
    ANSWER();
    snprintf(text, length, "550.54.15");
    return SUCCESS;
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
    ANSWER();
    *version = 12040;
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    ANSWER();
    *count = device_count();
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device)
{
    ANSWER();
    if (index >= (unsigned)device_count())
        return INVALID_ARGUMENT;
    *device = &devices[index];
    return SUCCESS;
}

int nvmlDeviceGetName(struct device *device, char *text, unsigned length)
{
    ANSWER();
    snprintf(text, length, "Stand-in GPU %u", device->number);
    return SUCCESS;
}

int nvmlDeviceGetUUID(struct device *device, char *text, unsigned length)
{
    ANSWER();
    snprintf(text, length, "GPU-00000000-0000-0000-0000-00000000000%u", device->number);
    return SUCCESS;
}

struct pci {
    char legacy[16];
    unsigned numbers[5];
    char bus[32];
};

int nvmlDeviceGetPciInfo_v3(struct device *device, struct pci *pci)
{
    ANSWER();
    memset(pci, 0, sizeof *pci);
    snprintf(pci->bus, sizeof pci->bus, "00000000:%02X:00.0", device->number + 0x41);
    return SUCCESS;
}

struct memory_v1 {
    unsigned long long total, free, used;
};

int nvmlDeviceGetMemoryInfo(struct device *device, struct memory_v1 *memory)
{
    ANSWER();
    if (device == &devices[0])
        __sync_fetch_and_add(&readings, 1);
    memory->total = TOTAL;
    memory->used = KEPT + OTHERS + device->allocated;
    memory->free = TOTAL - memory->used;
    return SUCCESS;
}

int nvmlDeviceGetTemperature(struct device *device, unsigned sensor, unsigned *degrees)
{
    ANSWER();
    if (sensor != 0)
        return INVALID_ARGUMENT;
    *degrees = 40 + device->busy / 4;
    return SUCCESS;
}

struct rates {
    unsigned gpu, memory;
};

int nvmlDeviceGetUtilizationRates(struct device *device, struct rates *rates)
{
    ANSWER();
    rates->gpu = device->busy;
    rates->memory = device->busy / 2;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(struct device *device, unsigned *milliwatts)
{
    ANSWER();
    (void)device;
    *milliwatts = MILLIWATTS;
    return SUCCESS;
}

struct process_v1 {
    unsigned pid;
    unsigned long long used;
};

#ifdef OLD_DRIVER
int nvmlDeviceGetComputeRunningProcesses(struct device *device, unsigned *count,
                                         struct process_v1 *rows)
{
    ANSWER();
    if (*count < 2)
        return *count = 2, INSUFFICIENT_SIZE;
    rows[0] = (struct process_v1){1, OTHERS};
    rows[1] = (struct process_v1){(unsigned)getpid(), device->allocated};
    *count = 2;
    return SUCCESS;
}
#else
/* Newer drivers count what they keep for themselves apart. */
struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

int nvmlDeviceGetMemoryInfo_v2(struct device *device, struct memory_v2 *memory)
{
    ANSWER();
    if (memory->version != (sizeof *memory | 2u << 24))
        return 25; /* a version this driver does not know */
    if (device == &devices[0])
        __sync_fetch_and_add(&readings, 1);
    memory->total = TOTAL;
    memory->reserved = KEPT;
    memory->used = OTHERS + device->allocated;
    memory->free = TOTAL - KEPT - memory->used;
    return SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(struct device *device, unsigned long long *millijoules)
{
    ANSWER();
    (void)device;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = now.tv_sec + now.tv_nsec / 1e9;
    *millijoules = (unsigned long long)(seconds * MILLIWATTS);
    return SUCCESS;
}

struct process_v2 {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

/* More processes than anyone expects, ours the last but one. */
int nvmlDeviceGetComputeRunningProcesses_v3(struct device *device, unsigned *count,
                                            struct process_v2 *rows)
{
    ANSWER();
    const unsigned many = 20;
    if (*count < many)
        return *count = many, INSUFFICIENT_SIZE;
    for (unsigned at = 0; at < many; at++)
        rows[at] = (struct process_v2){1, at ? 0 : OTHERS, ~0u, ~0u};
    rows[many - 2] = (struct process_v2){(unsigned)getpid(), device->allocated, ~0u, ~0u};
    rows[many - 1] = (struct process_v2){2, ~0ULL, ~0u, ~0u};
    *count = many;
    return SUCCESS;
}
#endif
