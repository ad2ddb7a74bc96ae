/* A line is one write(), so who reads meanwhile sees whole lines, but for the last one. */
#include "cli/cluster/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text/buf.h"
#include "cli/cluster/child.h"
#include "cli/cluster/slurm/node.h"

struct record {
    int fd;
    char path[PATH_MAX];
};

/* A text within a line. */
static void
flatten(char *text)
{
    for (; *text != '\0'; text++) {
        *text = *text == '\n' || *text == '\r' ? ' ' : *text;
    }
}

static void __attribute__((format(printf, 2, 3))) add_line(struct record *record, const char *format, ...)
{
    char line[CHILD_MESSAGE_MAX + 256];
    va_list args;
    size_t length;

    if (record == NULL) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    flatten(line);
    length = strlen(line);
    line[length] = '\n';
    (void)gr_write_all(record->fd, line, length + 1);
}

/* ---- what killed drivers left ---- */

/* Remove a record of this user and machine that nobody has locked, and the plans that it names. */
static void
sweep_one(int directory, const char *name, const char *host)
{
    int fd = openat(directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    char line[512], owner[CHUNKS_NODE] = "", plan[64];
    struct stat st;

    if (file == NULL) {
        gr_fd_close(&fd);
        return;
    }
    if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || flock(fd, LOCK_EX | LOCK_NB) < 0) {
        (void)fclose(file);
        return;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "driver %64s", owner);
        if (strcmp(owner, host) == 0 && sscanf(line, "plan %*d plan-%50[A-Za-z0-9]", plan) == 1) {
            char whole[80];

            (void)snprintf(whole, sizeof whole, "plan-%s", plan);
            (void)unlinkat(directory, whole, 0);
        }
    }
    if (strcmp(owner, host) == 0) {
        (void)unlinkat(directory, name, 0);
    }
    (void)fclose(file);
}

static void
sweep(const char *path)
{
    char host[CHUNKS_NODE];
    DIR *stream = opendir(path);
    const struct dirent *entry;

    (void)node_name(host);
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        if (strncmp(entry->d_name, RECORD_PREFIX, strlen(RECORD_PREFIX)) == 0) {
            sweep_one(dirfd(stream), entry->d_name, host);
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
}

/* ---- its beginning and end ---- */

static void
begin(struct record *record, const struct places *places)
{
    char host[CHUNKS_NODE];

    add_line(record, RECORD_FIRST_LINE);
    add_line(record, "driver %s %d %s %s", node_name(host), (int)getpid(), places_kind(places),
             places->job[0] == '\0' ? "-" : places->job);
    for (size_t p = 0; p <= places->count; p++) {
        add_line(record, "place %zu %s", p, places->list[p].name);
        if (places->list[p].instance[0] != '\0') {
            add_line(record, "instance %zu %s", p, places->list[p].instance);
        }
    }
}

granary_err
record_create(const struct places *places, struct record **ret_record)
{
    struct record *record = calloc(1, sizeof *record);
    granary_err err;

    if (record == NULL) {
        return gr_no_memory("record");
    }
    sweep(places->directory);
    if (snprintf(record->path, sizeof record->path, "%s/" RECORD_PREFIX "XXXXXX", places->directory) >=
        (int)sizeof record->path) {
        free(record);
        return gr_fail(GRANARY_EINVAL, "%.60s...: path too long", places->directory);
    }
    record->fd = mkostemp(record->path, O_APPEND | O_CLOEXEC);
    if (record->fd < 0) {
        err = gr_fail_errno("%s", record->path);
        free(record);
        return err;
    }
    while (flock(record->fd, LOCK_EX) < 0 && errno == EINTR) {
    }
    begin(record, places);
    *ret_record = record;
    return GRANARY_OK;
}

void
record_destroy(struct record *record)
{
    if (record != NULL) {
        (void)unlink(record->path);
        gr_fd_close(&record->fd);
        free(record);
    }
}

/* ---- what happens ---- */

void
record_plan(struct record *record, const char *path)
{
    const char *name = strrchr(path, '/');

    add_line(record, "plan %" PRId64 " %s", gr_wall_ms(), name == NULL ? path : name + 1);
}

void
record_begin(struct record *record, size_t place, size_t stage, uint32_t partition)
{
    add_line(record, "begin %" PRId64 " %zu %zu %u", gr_wall_ms(), place, stage, partition);
}

void
record_end(struct record *record, size_t place, size_t stage, uint32_t partition, const char *outcome, uint64_t bytes,
           const char *message)
{
    add_line(record, "end %" PRId64 " %zu %zu %u %s %" PRIu64 " %s", gr_wall_ms(), place, stage, partition, outcome,
             bytes, message);
}

void
record_lost(struct record *record, size_t stage, uint32_t partition)
{
    add_line(record, "lost %" PRId64 " %zu %u", gr_wall_ms(), stage, partition);
}

void
record_out(struct record *record, size_t place)
{
    add_line(record, "out %" PRId64 " %zu", gr_wall_ms(), place);
}
