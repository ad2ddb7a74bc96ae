/* Logs are copied and truncated: all who write append, executors and libraries that know of nothing, too. */
#include "cli/instance/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"

#define JOURNAL "/run/systemd/journal/socket"

static const char *const names[] = {"supervisor", "store", "sched", "pool", "web"};

/* A link to the directory that was chosen, in which each instance has one of its own; else the directory itself. */
static granary_err
make_directory(const struct supervisor_options *options)
{
    char path[PATH_MAX], kept[PATH_MAX];
    struct stat st;
    granary_err err;

    (void)snprintf(path, sizeof path, "%s/log", options->instance.runtime);
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        (void)unlink(path);
    }
    if (options->log_dir == NULL) {
        return gr_mkdir_private(path);
    }
    if (lstat(path, &st) == 0) {
        gr_remove_tree(path); /* of a run without a directory that was killed */
    }
    if (snprintf(kept, sizeof kept, "%s/%s", options->log_dir, options->instance.name) >= (int)sizeof kept) {
        return gr_fail(GRANARY_EINVAL, "log-dir %.64s...: path too long", options->log_dir);
    }
    err = gr_mkdir_private(kept);
    return err == GRANARY_OK && symlink(kept, path) < 0 ? gr_fail_errno("%s", path) : err;
}

static void
level_file(const struct gr_instance *instance, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/log.level", instance->runtime);
}

void
logs_set_level(const struct gr_instance *instance, const char *level)
{
    char path[PATH_MAX];
    uint8_t byte = level == NULL ? 0 : (uint8_t)(gr_log_level_of(level) + 1);
    int fd;

    level_file(instance, path);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        (void)!pwrite(fd, &byte, 1, 0);
    }
    gr_fd_close(&fd);
}

granary_err
logs_open(const struct supervisor_options *options)
{
    char path[PATH_MAX], journal[PATH_MAX];
    granary_err err = make_directory(options);

    if (err != GRANARY_OK) {
        return err;
    }
    logs_set_level(&options->instance, options->log);
    level_file(&options->instance, path);
    (void)snprintf(journal, sizeof journal, "%s:" JOURNAL, options->instance.name);
    if (setenv(GR_LOG_LEVEL_FILE, path, 1) < 0 ||
        (options->foreground && gr_log_is_journal(STDERR_FILENO) && setenv(GR_LOG_JOURNAL, journal, 0) < 0)) {
        return gr_fail_errno("the logs' environment");
    }
    return GRANARY_OK;
}

/* All that is there goes into a new file. */
static bool
cut(const struct gr_instance *instance, const char *from, const char *to)
{
    char level[PATH_MAX];
    int log = open(from, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    int made = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool done;

    level_file(instance, level);
    done = log >= 0 && made >= 0 && gr_log_cut(level, log, made) == GRANARY_OK;
    gr_fd_close(&log);
    gr_fd_close(&made);
    if (!done) {
        (void)unlink(to);
    }
    return done;
}

/* NAME.log.1 to NAME.log.N: each takes the place of the one behind it. */
static void
move_on(const char *path, int files)
{
    char from[PATH_MAX], to[PATH_MAX];

    for (int i = files - 1; i >= 1; i--) {
        (void)snprintf(from, sizeof from, "%s.%d", path, i);
        (void)snprintf(to, sizeof to, "%s.%d", path, i + 1);
        (void)rename(from, to);
    }
}

static void
rotate(const struct gr_instance *instance, const char *path, uint64_t size, uint64_t most, int files)
{
    char made[PATH_MAX], first[PATH_MAX];

    (void)snprintf(made, sizeof made, "%s.new", path);
    (void)snprintf(first, sizeof first, "%s.1", path);
    if (files > 0 && cut(instance, path, made)) {
        move_on(path, files);
        (void)rename(made, first);
    } else if (files == 0 || size >= 2 * most) {
        if (files > 0) {
            gr_log_warn("LOG-DROPPED", "file=%s bytes=%llu why=no disk for a copy", path, (unsigned long long)size);
        }
        (void)truncate(path, 0);
    }
}

void
logs_rotate(const struct supervisor_options *options)
{
    char path[PATH_MAX];
    struct stat st;

    for (size_t i = 0; options->log_size > 0 && i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/log/%s.log", options->instance.runtime, names[i]);
        if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size > options->log_size) {
            rotate(&options->instance, path, (uint64_t)st.st_size, options->log_size, options->log_files);
        }
    }
}
