/*
 * Records as others read them. They lie where other machines and users may write: those of other users are refused, for they
 * name machines that are asked. Numbers are compared with the plan, and a line that does not fit is passed over.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/cluster/record.h"

#define RECORD_MAX ((size_t)64 << 20)
#define PLAN_MAX   ((size_t)256 << 20)

/* ---- lines ---- */

static struct record_fragment *
fragment_at(const struct record_view *view, size_t stage, uint32_t partition)
{
    return view->plan == NULL || stage >= view->plan->stage_count || partition >= view->plan->stages[stage].partitions
               ? NULL
               : &view->fragments[view->first[stage] + partition];
}

static void
take_begin(struct record_view *view, const char *line)
{
    struct record_fragment *fragment;
    struct record_place *place;
    int64_t at_ms;
    size_t p, stage;
    uint32_t partition;

    if (sscanf(line, "begin %" SCNd64 " %zu %zu %" SCNu32, &at_ms, &p, &stage, &partition) != 4 ||
        p > view->places.count || (fragment = fragment_at(view, stage, partition)) == NULL) {
        return;
    }
    place = &view->at[p];
    *place = (struct record_place){place->out, place->out_ms, 1, stage, partition, at_ms};
    fragment->running++;
    fragment->place = p;
    fragment->since_ms = at_ms;
}

static void
take_end(struct record_view *view, char *line)
{
    struct record_fragment *fragment;
    char outcome[16];
    int64_t at_ms;
    size_t p, stage;
    uint32_t partition;
    int message = 0;

    if (sscanf(line, "end %" SCNd64 " %zu %zu %" SCNu32 " %15s %*u%n", &at_ms, &p, &stage, &partition, outcome,
               &message) != 5 ||
        message == 0 || p > view->places.count || (fragment = fragment_at(view, stage, partition)) == NULL) {
        return;
    }
    fragment->running -= fragment->running > 0;
    view->at[p].running = 0;
    if (strcmp(outcome, "done") == 0 && !fragment->done) {
        fragment->done = true;
        fragment->place = p;
        fragment->took_ms = at_ms - view->at[p].since_ms;
        fragment->since_ms = at_ms;
        view->done++;
    } else if (strcmp(outcome, "failed") == 0) {
        fragment->failed++;
        fragment->failed_at = p;
        fragment->failed_ms = at_ms;
        fragment->reason = line + message + (line[message] == ' ');
    }
}

static void
take_lost(struct record_view *view, const char *line)
{
    struct record_fragment *fragment;
    size_t stage;
    uint32_t partition;

    if (sscanf(line, "lost %*d %zu %" SCNu32, &stage, &partition) == 2 &&
        (fragment = fragment_at(view, stage, partition)) != NULL && fragment->done) {
        fragment->done = false;
        view->done--;
    }
}

static void
take_out(struct record_view *view, const char *line)
{
    int64_t at_ms;
    size_t p;

    if (sscanf(line, "out %" SCNd64 " %zu", &at_ms, &p) == 2 && p <= view->places.count) {
        view->at[p].out = true;
        view->at[p].out_ms = at_ms;
    }
}

/* ---- its plan ---- */

static granary_err
read_plan(struct record_view *view, const char *name)
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t size, count = 0;
    granary_err err;

    gr_cutplan_destroy(view->plan);
    view->plan = NULL;
    free(view->first);
    free(view->fragments);
    view->first = NULL;
    view->fragments = NULL;
    view->done = view->fragment_count = 0;
    (void)snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(view->path, '/') - view->path), view->path, name);
    err = gr_file_read_own(path, PLAN_MAX, &text, &size);
    err = err == GRANARY_OK ? gr_cutplan_from_json(text, size, &view->plan) : err;
    free(text);
    if (err != GRANARY_OK) {
        return err;
    }
    view->first = calloc(view->plan->stage_count, sizeof *view->first);
    for (size_t s = 0; s < view->plan->stage_count && view->first != NULL; s++) {
        view->first[s] = count;
        count += view->plan->stages[s].partitions;
    }
    view->fragments = calloc(count, sizeof *view->fragments);
    view->fragment_count = count;
    for (size_t f = 0; f < count && view->fragments != NULL; f++) {
        view->fragments[f].reason = "";
    }
    return view->first == NULL || view->fragments == NULL ? gr_no_memory("plan") : GRANARY_OK;
}

/* The plan that the record names last is the one that runs: what is before that line is of others. */
static granary_err
take_plan(struct record_view *view, const char *line)
{
    int64_t at_ms;
    char name[64];
    granary_err err;

    if (sscanf(line, "plan %" SCNd64 " plan-%50[A-Za-z0-9]", &at_ms, name) != 2) {
        return GRANARY_OK;
    }
    (void)snprintf(view->plan_name, sizeof view->plan_name, "plan-%s", name);
    view->began_ms = at_ms;
    for (size_t p = 0; p <= view->places.count; p++) {
        view->at[p] = (struct record_place){0};
    }
    err = read_plan(view, view->plan_name);
    return err == GRANARY_ENOENT ? GRANARY_OK : err; /* it was cut again meanwhile, or never written whole */
}

/* ---- places ---- */

static granary_err
count_places(struct record_view *view)
{
    char kind[16], job[32];
    size_t count = 0, p;
    granary_err err = GRANARY_OK;

    for (const char *at = view->text; at != NULL; at = strchr(at, '\n'), at += at != NULL) {
        if (sscanf(at, "place %zu ", &p) == 1 && p == count) {
            count++;
        } else if (strncmp(at, "plan ", 5) == 0) {
            break;
        }
    }
    if (count == 0 || count > PLACES_MAX + 1 ||
        sscanf(strchr(view->text, '\n') + 1, "driver %64s %ld %15s %31s", view->host, &view->pid, kind, job) != 4) {
        return gr_fail(GRANARY_ECORRUPT, "%s: is damaged", view->path);
    }
    err = places_recall(kind, job, count - 1, &view->places);
    view->at = calloc(count, sizeof *view->at);
    return err == GRANARY_OK && view->at == NULL ? gr_no_memory("places") : err;
}

static void
take_place(struct record_view *view, const char *line)
{
    size_t p;
    char text[108];

    if (sscanf(line, "place %zu %64[^\n]", &p, text) == 2 && p <= view->places.count && text[0] != '-') {
        (void)snprintf(view->places.list[p].name, sizeof view->places.list[p].name, "%s", text);
    } else if (sscanf(line, "instance %zu %107[^\n]", &p, text) == 2 && p <= view->places.count) {
        (void)snprintf(view->places.list[p].instance, sizeof view->places.list[p].instance, "%s", text);
    }
}

/* ---- all of it ---- */

static granary_err
take_lines(struct record_view *view)
{
    granary_err err = count_places(view);
    char *rest = NULL;

    for (char *line = err == GRANARY_OK ? strtok_r(view->text, "\n", &rest) : NULL; line != NULL && err == GRANARY_OK;
         line = strtok_r(NULL, "\n", &rest)) {
        switch (line[0]) {
        case 'p':
            err = take_plan(view, line);
            take_place(view, line);
            break;
        case 'i':
            take_place(view, line);
            break;
        case 'b':
            take_begin(view, line);
            break;
        case 'e':
            take_end(view, line);
            break;
        case 'l':
            take_lost(view, line);
            break;
        case 'o':
            take_out(view, line);
            break;
        default:
            break;
        }
    }
    return err;
}

granary_err
record_read(const char *path, struct record_view *ret_view)
{
    struct record_view *view = ret_view;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW); /* whatever lies there: nobody is waited for */
    struct stat st;
    granary_err err;

    *view = (struct record_view){.pid = 0};
    (void)snprintf(view->path, sizeof view->path, "%s", path);
    if (fd < 0 || fstat(fd, &st) < 0) {
        err = gr_fail_errno("%s", path);
    } else if (!S_ISREG(st.st_mode) || (size_t)st.st_size > RECORD_MAX) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: is no record of a run", path);
    } else if (st.st_uid != geteuid()) {
        err = gr_fail(GRANARY_EPERM, "%s: is a record of uid %u: ask as that user", path, (unsigned)st.st_uid);
    } else {
        view->alive = flock(fd, LOCK_SH | LOCK_NB) < 0; /* also where no file can be locked */
        view->text = calloc(1, (size_t)st.st_size + 1);
        err = view->text == NULL ? gr_no_memory(path) : gr_pread_all(fd, view->text, (size_t)st.st_size, 0);
    }
    gr_fd_close(&fd);
    if (err == GRANARY_OK && strncmp(view->text, RECORD_FIRST_LINE "\n", strlen(RECORD_FIRST_LINE) + 1) != 0) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: is no record of a run that this granary knows", path);
    }
    err = err == GRANARY_OK ? take_lines(view) : err;
    if (err != GRANARY_OK) {
        record_free(view);
    }
    return err;
}

void
record_free(struct record_view *view)
{
    places_close(&view->places);
    gr_cutplan_destroy(view->plan);
    free(view->at);
    free(view->first);
    free(view->fragments);
    free(view->text);
    *view = (struct record_view){.pid = 0};
}

/* ---- where they are ---- */

static granary_err
add_path(char ***paths, size_t *count, const char *path)
{
    char **more = realloc(*paths, (*count + 1) * sizeof *more);

    if (more == NULL) {
        return gr_no_memory("records");
    }
    *paths = more;
    more[*count] = strdup(path);
    if (more[*count] == NULL) {
        return gr_no_memory("records");
    }
    (*count)++;
    return GRANARY_OK;
}

static bool
is_record(const char *name)
{
    return strncmp(name, RECORD_PREFIX, strlen(RECORD_PREFIX)) == 0 &&
           strspn(name + strlen(RECORD_PREFIX), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") ==
               6 &&
           strlen(name) == strlen(RECORD_PREFIX) + 6;
}

granary_err
record_list(const char *directory, char ***ret_paths, size_t *ret_count)
{
    DIR *stream = opendir(directory);
    const struct dirent *entry;
    granary_err err = stream == NULL ? gr_fail_errno("--directory %s", directory) : GRANARY_OK;

    *ret_paths = NULL;
    *ret_count = 0;
    while (err == GRANARY_OK && (entry = readdir(stream)) != NULL) {
        char path[PATH_MAX];

        if (is_record(entry->d_name) &&
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) < (int)sizeof path) {
            err = add_path(ret_paths, ret_count, path);
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
    return err;
}

/* Files that a process has open and that are records. */
static granary_err
list_process(const char *pid, char ***paths, size_t *count)
{
    char at[64], file[PATH_MAX];
    DIR *stream;
    const struct dirent *entry;
    granary_err err = GRANARY_OK;

    (void)snprintf(at, sizeof at, "/proc/%.20s/fd", pid);
    stream = opendir(at);
    while (stream != NULL && err == GRANARY_OK && (entry = readdir(stream)) != NULL) {
        ssize_t size = readlinkat(dirfd(stream), entry->d_name, file, sizeof file - 1);
        const char *name;

        file[size < 0 ? 0 : size] = '\0';
        name = strrchr(file, '/');
        if (name != NULL && is_record(name + 1)) {
            err = add_path(paths, count, file);
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
    return err;
}

granary_err
record_list_running(char ***ret_paths, size_t *ret_count)
{
    DIR *stream = opendir("/proc");
    const struct dirent *entry;
    granary_err err = stream == NULL ? gr_fail_errno("/proc") : GRANARY_OK;

    *ret_paths = NULL;
    *ret_count = 0;
    while (err == GRANARY_OK && (entry = readdir(stream)) != NULL) {
        struct stat st;

        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && fstatat(dirfd(stream), entry->d_name, &st, 0) == 0 &&
            st.st_uid == geteuid()) {
            err = list_process(entry->d_name, ret_paths, ret_count);
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
    return err;
}

void
record_list_free(char **paths, size_t count)
{
    while (count > 0) {
        free(paths[--count]);
    }
    free(paths);
}
