#include "world.h"
#include "store/segment/audit.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/futex.h"
#include "base/log.h"
#include "wire/frame.h"

#define PLACE        "granary-fuzz-" /* PID-XXXXXX, in /dev/shm */
#define LOOK_NS      200             /* what looking at the clock costs */
#define TURN_NS      10000           /* ... and a turn of the store */
#define FIRST_NAP_NS 100000          /* a wait in vain lets so much time pass, */
#define MOST_NAP_NS  500000000       /* ... twice as much each time, up to this */
#define PATIENCE     3000u           /* waits in vain: nobody will ever come */
#define JOBS_HELD    8u              /* waits in vain before jobs that are held run by themselves */
#define SETTLED      1000u

struct world world = {.stop_fd = -1};

static bool entered;
static bool jobs_held;
static int64_t passed_ns;
static int64_t nap_ns;
static unsigned vain;

void
world_fail(const char *condition, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)fprintf(stderr, "must hold: %s: ", condition);
    (void)vfprintf(stderr, format, arguments);
    (void)fprintf(stderr, "\nlast error: %s\n", granary_error_message());
    va_end(arguments);
    abort();
}

/* ---- a place for it ---- */

static void
remove_instance(const char *dir, const struct gr_instance *instance)
{
    (void)gr_instance_sweep_shm(instance);
    gr_remove_tree(dir);
}

static void
sweep(void)
{
    if (world.dir[0] != '\0') {
        remove_instance(world.dir, &world.paths);
    }
}

/* A target that aborts leaves its place: the next one sees by its name that nobody is there any more. */
static void
sweep_dead(void)
{
    DIR *shm = opendir("/dev/shm");
    struct dirent *entry;

    while (shm != NULL && (entry = readdir(shm)) != NULL) {
        struct gr_instance instance;
        char path[512];
        int pid;

        if (sscanf(entry->d_name, PLACE "%d-", &pid) != 1 || pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH) {
            continue;
        }
        (void)snprintf(path, sizeof path, "/dev/shm/%s/i", entry->d_name);
        if (gr_instance_resolve(path, &instance) == GRANARY_OK) {
            path[strlen(path) - strlen("/i")] = '\0';
            remove_instance(path, &instance);
        }
    }
    if (shm != NULL) {
        (void)closedir(shm);
    }
}

static void
start(void)
{
    MUST(store_create(&world.options, &world.store) == GRANARY_OK, "a store starts");
}

void
world_open(uint64_t memory_bytes, granary_levels levels)
{
    static bool registered;

    if (!registered) {
        sweep_dead();
        registered = atexit(sweep) == 0;
        gr_log_init("fuzz");
    }
    world = (struct world){.stop_fd = -1};
    (void)snprintf(world.dir, sizeof world.dir, "/dev/shm/" PLACE "%d-XXXXXX", (int)getpid());
    MUST(mkdtemp(world.dir) != NULL, "a directory in /dev/shm");
    (void)snprintf(world.instance, sizeof world.instance, "%s/i", world.dir);
    (void)snprintf(world.spill, sizeof world.spill, "%s/spill", world.dir);
    (void)snprintf(world.remote, sizeof world.remote, "%s/remote", world.dir);
    MUST(gr_instance_resolve(world.instance, &world.paths) == GRANARY_OK, "an instance");
    world.stop_fd = eventfd(0, EFD_CLOEXEC);
    world.options = (struct store_options){.instance = world.instance,
                                           .memory_bytes = memory_bytes,
                                           .spill = {{.dir = world.spill}},
                                           .spill_count = 1,
                                           .levels = levels,
                                           .stop_fd = world.stop_fd};
    if ((levels & GRANARY_LEVEL_REMOTE) != 0) {
        world.options.remote_dir = world.remote;
    }
    start();
}

void
world_close(void)
{
    store_destroy(world.store);
    world.store = NULL;
    gr_fd_close(&world.stop_fd);
    MUST(gr_instance_sweep_shm(&world.paths) == 0, "no shared memory is left behind");
    gr_remove_tree(world.dir);
    world.dir[0] = '\0';
}

void
world_die(void)
{
    store_die(world.store);
    store_destroy(world.store);
    world.store = NULL;
}

void
world_adopt(void)
{
    start();
}

/* ---- time ---- */

int __real_clock_gettime(clockid_t clock, struct timespec *ret_time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time);
int
__wrap_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    int64_t epoch_s = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? 1700000000 : 1000;

    if (!entered) {
        return __real_clock_gettime(clock, ret_time);
    }
    passed_ns += LOOK_NS;
    ret_time->tv_sec = epoch_s + passed_ns / 1000000000;
    ret_time->tv_nsec = passed_ns % 1000000000;
    return 0;
}

void
world_enter(void)
{
    entered = true;
    jobs_held = false;
    vain = 0;
    nap_ns = FIRST_NAP_NS;
}

void
world_leave(void)
{
    entered = false;
}

void
world_pass(int64_t ns)
{
    passed_ns += ns;
}

/* ---- turns ---- */

bool
world_turn(void)
{
    if (world.store == NULL) {
        return false;
    }
    passed_ns += TURN_NS;
    return store_turn(world.store);
}

void
world_hold_jobs(bool hold)
{
    jobs_held = hold;
}

void
world_settle(void)
{
    for (unsigned i = 0, quiet = 0; quiet < 3; i++) {
        bool busy = world_run_job(0);

        busy = world_turn() || busy;
        quiet = busy ? 0 : quiet + 1;
        MUST(i < SETTLED, "the store comes to rest");
    }
}

void
world_audit(const char *after)
{
    const uint64_t *bytes = world.store->account.bytes;

    MUST(store_audit(world.store), "the account after %s", after);
    for (int part = GR_ACCOUNT_FREE; part <= GR_ACCOUNT_POOLED; part++) { /* a sum that adds up may have wrapped */
        MUST(bytes[part] <= bytes[GR_ACCOUNT_CAPACITY], "part %d of the account after %s", part, after);
    }
}

/* Somebody waits: the store may do something about it. Where that changes nothing, time passes, and ever faster. */
static void
await(void)
{
    static uint64_t changes;
    bool busy = (!jobs_held || vain > JOBS_HELD) && world_run_job(0);

    (void)world_turn();
    if (busy || world.store == NULL || world.store->account.changes != changes) {
        changes = world.store == NULL ? 0 : world.store->account.changes;
        vain = 0;
        nap_ns = FIRST_NAP_NS;
        return;
    }
    MUST(vain++ < PATIENCE, "a call comes to its end");
    passed_ns += nap_ns;
    nap_ns = nap_ns < MOST_NAP_NS && vain % 4 == 0 ? 2 * nap_ns : nap_ns;
}

granary_err
__real_gr_frame_receive(struct gr_frame_reader *reader, int fd, int64_t deadline_ns, struct gr_frame_in *ret_frame);
granary_err
__wrap_gr_frame_receive(struct gr_frame_reader *reader, int fd, int64_t deadline_ns, struct gr_frame_in *ret_frame);
granary_err
__wrap_gr_frame_receive(struct gr_frame_reader *reader, int fd, int64_t deadline_ns, struct gr_frame_in *ret_frame)
{
    granary_err err;

    while ((err = __real_gr_frame_receive(reader, fd, 0, ret_frame)) == GRANARY_ETIMEDOUT &&
           gr_now_ns() < deadline_ns) {
        await();
    }
    return err;
}

void __wrap_gr_futex_wait_many(const struct gr_futex *futexes, unsigned count, int64_t deadline_ns);
void
__wrap_gr_futex_wait_many(const struct gr_futex *futexes, unsigned count, int64_t deadline_ns)
{
    do {
        for (unsigned i = 0; i < count; i++) {
            if (atomic_load(futexes[i].word) != futexes[i].expected) {
                return;
            }
        }
        await();
    } while (gr_now_ns() < deadline_ns);
}

void __wrap_gr_futex_wait(const _Atomic uint32_t *word, uint32_t expected, int64_t deadline_ns);
void
__wrap_gr_futex_wait(const _Atomic uint32_t *word, uint32_t expected, int64_t deadline_ns)
{
    __wrap_gr_futex_wait_many(&(struct gr_futex){word, expected}, 1, deadline_ns);
}

int __real_nanosleep(const struct timespec *time, struct timespec *ret_left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *ret_left);
int
__wrap_nanosleep(const struct timespec *time, struct timespec *ret_left)
{
    if (!entered) {
        return __real_nanosleep(time, ret_left);
    }
    await();
    return 0;
}

int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int
__wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    if (!entered || timeout_ms == 0) {
        return __real_poll(fds, count, timeout_ms);
    }
    await();
    return __real_poll(fds, count, 0);
}

int __real_sched_yield(void);
int __wrap_sched_yield(void);
int
__wrap_sched_yield(void)
{
    if (!entered) { /* the leak checker, for one */
        return __real_sched_yield();
    }
    await();
    return 0;
}

/* What is logged is made, and shown to who asks by GRANARY_LOG: it is what these targets provoke. */
void
__wrap_gr_log(enum gr_log_level level, const char *id, const char *format, ...) __attribute__((format(printf, 3, 4)));
void
__wrap_gr_log(enum gr_log_level level, const char *id, const char *format, ...)
{
    static int shown = -1;
    char text[1000];
    va_list arguments;

    (void)level;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    shown = shown < 0 ? getenv("GRANARY_LOG") != NULL : shown;
    if (shown == 1) {
        (void)fprintf(stderr, "%s %s\n", id, text);
    }
}

/* The store can do without the threads it would like to have for large files. */
int
__real_pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes, void *(*main)(void *), void *argument);
int
__wrap_pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes, void *(*main)(void *), void *argument);
int
__wrap_pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes, void *(*main)(void *), void *argument)
{
    return entered ? EAGAIN : __real_pthread_create(ret_thread, attributes, main, argument);
}

unsigned
world_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;

    while (dir != NULL && readdir(dir) != NULL) {
        count++;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}
