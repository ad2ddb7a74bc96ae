/*
 * Crash states: a store, a scheduler, or `granary sql` runs a scenario while its file operations are recorded; then disks are made as a
 * crash at any moment may leave them (power/disk.h), a daemon is started on each, and every promise is checked.
 *
 *   crash_states [--states N] [--seed S] [--only NUMBER] [--keep DIR] [--lying] store|state|table|files
 *
 * A disk that breaks a promise is printed with its number; the same number of the same trace is the same disk, and
 * --keep leaves the first one, and the trace, in DIR. Exit status 1 then; 77: /dev/shm is too small for it.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/instance.h"
#include "power/beside.h"
#include "power/scenario.h"
#include "power/trace.h"
#include "support/guard.h"

#define FAILURES_MOST 10
#define ROOM_NEEDED   ((uint64_t)32 << 20) /* a trace, a disk, what daemons say, and a store: 13 MiB at most, seen */

static struct {
    const struct scenario *scenario;
    uint64_t states, seed, only;
    bool has_only;
    const char *keep;
    const char *trace;
    unsigned lies;
    bool wants_failure, lying;
} options = {.states = 500, .seed = 1};

static const struct argp_option option_table[] = {
    {"states", 'n', "N", 0, "disks to make (500)", 0},
    {"seed", 's', "S", 0, "of what is chosen at random (1)", 0},
    {"only", 'o', "NUMBER", 0, "this disk alone", 0},
    {"keep", 'k', "DIR", 0, "copy the trace and the first disk that fails into DIR", 0},
    {"trace", 't', "FILE", 0, "use this trace of an earlier run (DIR/trace)", 0},
    {"without-sync", 'w', "file|directory", 0,
     "take syncs of files or directories for done when nothing was: succeeds when a broken promise is found", 0},
    {"lying", 'l', NULL, 0, "no sync does anything: things may be lost or refused, and never be others", 0},
    {0}};

static const struct scenario *const scenarios[] = {&scenario_store, &scenario_state, &scenario_table, &scenario_files};

static uint64_t
number(const char *text, struct argp_state *state)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);

    if (end == text || *end != '\0') {
        argp_error(state, "'%s' is no number", text);
    }
    return value;
}

static error_t
parse(int key, char *text, struct argp_state *state)
{
    switch (key) {
    case 'n':
        options.states = number(text, state);
        break;
    case 's':
        options.seed = number(text, state);
        break;
    case 'o':
        options.only = number(text, state);
        options.has_only = true;
        break;
    case 'k':
        options.keep = text;
        break;
    case 't':
        options.trace = text;
        break;
    case 'w':
        options.lies |= strcmp(text, "file") == 0 ? DISK_NO_FILE_SYNC : DISK_NO_DIRECTORY_SYNC;
        options.wants_failure = true;
        break;
    case 'l':
        options.lies = DISK_NO_FILE_SYNC | DISK_NO_DIRECTORY_SYNC;
        options.lying = true;
        break;
    case ARGP_KEY_ARG:
        for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
            options.scenario = strcmp(text, scenarios[i]->name) == 0 ? scenarios[i] : options.scenario;
        }
        if (options.scenario == NULL || state->arg_num > 0) {
            argp_error(state, "no such scenario: %s", text);
        }
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "store, state, table or files?");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp parser = {
    .options = option_table,
    .parser = parse,
    .args_doc = "store|state|table|files",
    .doc = "Start a daemon on every disk that a crash may leave, and check what was promised."};

void
stage_note(const struct stage *stage, const char *format, ...)
{
    struct trace_record record = {.kind = TRACE_NOTE};
    char text[256];
    struct iovec parts[2] = {{.iov_base = &record, .iov_len = sizeof record}, {.iov_base = text}};
    va_list arguments;
    int fd = open(stage->trace, O_WRONLY | O_APPEND | O_CLOEXEC);

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    record.path_size = (uint32_t)strlen(text);
    parts[1].iov_len = record.path_size;
    if (fd < 0 || writev(fd, parts, 2) < 0) {
        perror(stage->trace);
        abort();
    }
    gr_fd_close(&fd);
}

bool
stage_fail(struct stage *stage, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(stage->why, sizeof stage->why, format, arguments);
    va_end(arguments);
    return false;
}

void
stage_power_off(const struct stage *stage)
{
    struct gr_instance instance;

    if (gr_instance_resolve(stage->instance, &instance) == GRANARY_OK) {
        (void)gr_instance_sweep_shm(&instance);
    }
}

static void
set_environment(const struct stage *stage)
{
    beside_find_daemons();
    beside_preload("libcrash_recorder.so");
    (void)setenv(TRACE_FILE_VARIABLE, stage->trace, 1);
    (void)setenv(TRACE_ROOT_VARIABLE, stage->root, 1);
    (void)setenv("GRANARY_LOG", "error", 0);
}

static bool
record(struct stage *stage)
{
    struct disks *disks;
    bool ok;
    int fd;

    set_environment(stage);
    if (options.trace != NULL) {
        (void)snprintf(stage->trace, sizeof stage->trace, "%.47s", options.trace);
        beside_preload(NULL);
        return true;
    }
    fd = open(stage->trace, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    gr_fd_close(&fd);
    ok = options.scenario->record(stage);
    beside_preload(NULL);
    if (!ok) {
        (void)fprintf(stderr, "crash_states: the scenario failed: %s\n", stage->why);
        return false;
    }
    disks = disks_load(stage->trace, 0);
    ok = disks != NULL && disks_explain(disks, stage->root);
    disks_free(disks);
    return ok;
}

static void
copy_tree(const char *from, const char *into, const char *name)
{
    char to[600];
    pid_t child;

    (void)mkdir(into, 0700);
    (void)snprintf(to, sizeof to, "%s/%s", into, name);
    child = fork();
    if (child == 0) {
        (void)execlp("cp", "cp", "-a", from, to, (char *)NULL);
        _exit(127);
    }
    (void)waitpid(child, NULL, 0);
}

/* A disk in place of what is there. */
static bool
lay(const struct stage *stage, struct disks *disks, uint64_t number)
{
    gr_remove_tree(stage->root);
    return mkdir(stage->root, 0700) == 0 && disks_write(disks, stage->root, number % 3 == 0 ? number % 32768 : 0);
}

static void
report(struct stage *stage, struct disks *disks, const struct disk *disk, bool first)
{
    (void)printf("disk %" PRIu64 ": point %zu (behind '%s'), %zu of %zu unsynced operations applied, %zu torn: %s\n",
                 disk->number, disk->point, disk->last, disk->applied, disk->pending, disk->torn, stage->why);
    if (first && options.keep != NULL) {
        (void)lay(stage, disks, disk->number);
        copy_tree(stage->root, options.keep, "disk");
        copy_tree(stage->trace, options.keep, "trace");
        copy_tree(stage->log, options.keep, "log");
    }
}

/* What daemons say on damaged disks is in the way, until something is wrong. */
static void
divert_stderr(struct stage *stage)
{
    int fd;

    (void)snprintf(stage->log, sizeof stage->log, "%s.log", stage->root);
    fd = open(stage->log, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)fflush(stderr);
        (void)dup2(fd, STDERR_FILENO);
    }
    gr_fd_close(&fd);
}

static void
show_log(const struct stage *stage)
{
    char *text = NULL;
    size_t size = 0;

    (void)fflush(stderr);
    if (gr_file_read(stage->log, (size_t)1 << 26, &text, &size) == GRANARY_OK) {
        (void)printf("%s", size > 2000 ? text + size - 2000 : text);
    }
    free(text);
}

static int
by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

/* Whether it is new; `seen` is kept sorted. */
static bool
is_new(uint64_t *seen, size_t *count, uint64_t hash)
{
    size_t low = 0;
    size_t high = *count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (by_value(&seen[middle], &hash) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < *count && seen[low] == hash) {
        return false;
    }
    memmove(seen + low + 1, seen + low, (*count - low) * sizeof *seen);
    seen[low] = hash;
    (*count)++;
    return true;
}

static int
run(struct stage *stage, struct disks *disks)
{
    uint64_t first = options.has_only ? options.only : 0;
    uint64_t end = options.has_only ? options.only + 1 : options.states;
    uint64_t *seen = calloc((size_t)(end - first) + 1, sizeof *seen);
    size_t different = 0;
    size_t failures = 0;

    for (uint64_t n = first; seen != NULL && n < end && failures < FAILURES_MOST; n++) {
        struct disk disk;

        disks_choose(disks, n, options.seed, &disk);
        if (!is_new(seen, &different, disk.hash)) {
            continue;
        }
        if (!lay(stage, disks, n)) {
            free(seen);
            return 2;
        }
        stage->why[0] = '\0';
        if (!options.scenario->check(stage, disks)) {
            failures++;
            report(stage, disks, &disk, failures == 1);
        }
    }
    (void)printf("crash_states %s: seed %" PRIu64 ", %zu points, %" PRIu64 " disks, %zu different, %zu broken\n",
                 options.scenario->name, options.seed, disks_points(disks), end - first, different, failures);
    free(seen);
    return (failures > 0) != options.wants_failure;
}

/* Disks are made where no file system of the machine's own takes part: in shared memory, which may be small. */
static bool
has_room(const char *folder)
{
    struct statvfs fs;

    if (statvfs(folder, &fs) == 0 && (fs.f_blocks == 0 || fs.f_bavail * fs.f_frsize >= ROOM_NEEDED)) {
        return true; /* no blocks: as much as there is memory */
    }
    (void)printf("crash_states: skipped: %s has no %" PRIu64 " MiB free: mount it with a larger size\n", folder,
                 ROOM_NEEDED >> 20);
    return false;
}

int
main(int argc, char **argv)
{
    struct stage stage = {.root = "/dev/shm/granary-disk-XXXXXX"};
    struct disks *disks = NULL;
    int status = 2;

    (void)argp_parse(&parser, argc, argv, 0, NULL, NULL);
    stage.lying = options.lying;
    if (!has_room("/dev/shm")) {
        return 77;
    }
    if (mkdtemp(stage.root) == NULL) {
        perror(stage.root);
        return 2;
    }
    (void)guard_start(stage.root);
    (void)snprintf(stage.instance, sizeof stage.instance, "%s/i", stage.root);
    (void)snprintf(stage.trace, sizeof stage.trace, "%s.t", stage.root);
    divert_stderr(&stage);
    if (record(&stage) && (disks = disks_load(stage.trace, options.lies)) != NULL) {
        status = run(&stage, disks);
    }
    if (status == 2) {
        show_log(&stage);
    }
    disks_free(disks);
    stage_power_off(&stage);
    gr_remove_tree(stage.root);
    (void)unlink(stage.log);
    if (options.trace == NULL) {
        (void)unlink(stage.trace);
    }
    return status;
}
