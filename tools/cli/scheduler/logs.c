/* granary logs: what functions and programs of a graph have printed. The files are read, nobody is asked. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/print/json.h"
#include "cli/print/show.h"
#include "cli/scheduler/scheduler.h"
#include "granary/info.h"

#define BLOCK   65536
#define TICK_MS 250 /* whether the graph has ended is asked so often */

/* A file of a subtask's output. */
struct log {
    uint32_t subtask;
    uint32_t attempt;
    int64_t shown; /* bytes */
};

struct logs {
    struct cli *cli;
    bool follow;
    long tail; /* lines; -1: all */
    char key[GRANARY_KEY_MAX];
    int64_t subtask; /* -1: all */
    char folder[GR_LOGS_MAX + GR_LOG_FOLDER_MAX + 1];
    struct log *items; /* in order of subtask, attempt */
    size_t count;
    bool headed; /* something was printed, last of this one: */
    uint32_t headed_subtask, headed_attempt;
    bool escape; /* stdout is a terminal */
    struct json json;
};

/* ---- files ---- */

static int
by_number(const void *left, const void *right)
{
    const struct log *a = left;
    const struct log *b = right;

    return a->subtask != b->subtask ? (a->subtask > b->subtask) - (a->subtask < b->subtask)
                                    : (a->attempt > b->attempt) - (a->attempt < b->attempt);
}

static struct log *
log_find(const struct logs *logs, uint32_t subtask, uint32_t attempt)
{
    const struct log wanted = {.subtask = subtask, .attempt = attempt};

    return logs->count == 0 ? NULL : bsearch(&wanted, logs->items, logs->count, sizeof wanted, by_number);
}

/* Take the files that are new. Errors: ENOENT there is no folder · ENOMEM */
static granary_err
find_files(struct logs *logs)
{
    struct log *found = NULL;
    size_t count = 0;
    struct dirent *entry;
    granary_err err = GRANARY_OK;
    DIR *folder = opendir(logs->folder);

    if (folder == NULL) {
        return gr_fail_errno("%s", logs->folder);
    }
    while (err == GRANARY_OK && (entry = readdir(folder)) != NULL) {
        struct log log = {.shown = 0};
        struct log *grown;
        int length = 0;

        if (sscanf(entry->d_name, "%" SCNu32 ".%" SCNu32 ".log%n", &log.subtask, &log.attempt, &length) != 2 ||
            length == 0 || entry->d_name[length] != '\0' ||
            (logs->subtask >= 0 && log.subtask != (uint32_t)logs->subtask) ||
            log_find(logs, log.subtask, log.attempt) != NULL) {
            continue;
        }
        grown = reallocarray(found, count + 1, sizeof *grown);
        if (grown == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "out of memory");
        } else {
            found = grown;
            found[count++] = log;
        }
    }
    (void)closedir(folder);
    if (count > 0 && err == GRANARY_OK) {
        struct log *all = reallocarray(logs->items, logs->count + count, sizeof *all);

        if (all == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "out of memory");
        } else {
            memcpy(all + logs->count, found, count * sizeof *found);
            logs->items = all;
            logs->count += count;
            qsort(all, logs->count, sizeof *all, by_number);
        }
    }
    free(found);
    return err;
}

static int
log_open(const struct logs *logs, const struct log *log)
{
    char path[sizeof logs->folder + 32];

    (void)snprintf(path, sizeof path, "%s/%" PRIu32 ".%" PRIu32 ".log", logs->folder, log->subtask, log->attempt);
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* Where the last lines begin. */
static int64_t
tail_start(int fd, int64_t size, long lines)
{
    char block[4096];
    int64_t at = size;

    while (at > 0) {
        size_t part = at < (int64_t)sizeof block ? (size_t)at : sizeof block;

        if (gr_pread_all(fd, block, part, at - (int64_t)part) != GRANARY_OK) {
            return 0;
        }
        for (size_t i = part; i > 0; i--) {
            /* The line feed that ends the file ends no line before the last. */
            if (block[i - 1] == '\n' && at - (int64_t)(part - i) < size && lines-- == 1) {
                return at - (int64_t)(part - i);
            }
        }
        at -= (int64_t)part;
    }
    return 0;
}

/* ---- printing ---- */

/* Several files are told apart as tail(1) does. */
static void
put_head(struct logs *logs, const struct log *log)
{
    bool first = !logs->headed;

    if (first || logs->headed_subtask != log->subtask || logs->headed_attempt != log->attempt) {
        if (logs->subtask < 0 || logs->count > 1) {
            (void)printf("%s==> %s/%" PRIu32 ".%" PRIu32 " <==\n", first ? "" : "\n", logs->key, log->subtask,
                         log->attempt);
        }
        logs->headed = true;
        logs->headed_subtask = log->subtask;
        logs->headed_attempt = log->attempt;
    }
}

/* What is new in a file. */
static void
show(struct logs *logs, struct log *log)
{
    int fd = log_open(logs, log);
    struct stat st;
    char *block = malloc(BLOCK);

    if (fd >= 0 && block != NULL && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        if (log->shown == 0 && logs->tail >= 0) {
            log->shown = logs->tail == 0 ? st.st_size : tail_start(fd, st.st_size, logs->tail);
        }
        if (log->shown > st.st_size) {
            log->shown = 0; /* another attempt at the same file */
        }
        while (log->shown < st.st_size && ferror(stdout) == 0) {
            ssize_t size = pread(fd, block, BLOCK, log->shown);

            if (size <= 0) {
                break;
            }
            put_head(logs, log);
            log->shown += (int64_t)(logs->escape ? show_lines(block, (size_t)size, log->shown + size < st.st_size)
                                                 : fwrite(block, 1, (size_t)size, stdout));
        }
    }
    free(block);
    gr_fd_close(&fd);
}

static void
show_json(struct logs *logs, const struct log *log)
{
    int fd = log_open(logs, log);
    struct stat st;
    char *text = NULL;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (text = calloc(1, (size_t)st.st_size + 1)) != NULL) {
        int64_t from = logs->tail < 0 ? 0 : logs->tail == 0 ? st.st_size : tail_start(fd, st.st_size, logs->tail);

        if (gr_pread_all(fd, text, (size_t)(st.st_size - from), from) == GRANARY_OK) {
            json_open(&logs->json, NULL, '{');
            json_unsigned(&logs->json, "subtask", log->subtask);
            json_unsigned(&logs->json, "attempt", log->attempt);
            json_text(&logs->json, "text", text);
            json_close(&logs->json);
        }
    }
    free(text);
    gr_fd_close(&fd);
}

static void
show_all(struct logs *logs)
{
    if (logs->cli->json) {
        json_open(&logs->json, NULL, '[');
    }
    for (size_t i = 0; i < logs->count; i++) {
        if (logs->cli->json) {
            show_json(logs, &logs->items[i]);
        } else {
            show(logs, &logs->items[i]);
        }
    }
    if (logs->cli->json) {
        json_close(&logs->json);
    }
    (void)fflush(stdout);
}

/* ---- which ---- */

static bool
is_there(struct logs *logs, const struct gr_instance *instance, const char *key)
{
    char root[GR_LOGS_MAX];
    char name[GR_LOG_FOLDER_MAX];

    gr_instance_logs(instance, root);
    gr_log_folder(key, name);
    (void)snprintf(logs->key, sizeof logs->key, "%s", key);
    (void)snprintf(logs->folder, sizeof logs->folder, "%s/%s", root, name);
    return access(logs->folder, F_OK) == 0;
}

/* GRAPH or GRAPH/SUBTASK: a key may have slashes itself. */
static void
choose(struct logs *logs, const struct gr_instance *instance, char *text)
{
    char *slash = strrchr(text, '/');
    char *end = NULL;
    unsigned long subtask = slash == NULL ? 0 : strtoul(slash + 1, &end, 10);

    logs->subtask = -1;
    if (!is_there(logs, instance, text) && slash != NULL && isdigit((unsigned char)slash[1]) && *end == '\0' &&
        subtask < UINT32_MAX) {
        *slash = '\0';
        (void)is_there(logs, instance, text);
        logs->subtask = (int64_t)subtask;
    }
}

/* ---- following ---- */

/* Whether the graph has ended, or nobody is there to tell. */
static bool
has_ended(const struct logs *logs, granary_client *client)
{
    return client == NULL || granary_graph_wait(client, logs->key, 0, NULL) != GRANARY_ETIMEDOUT;
}

static granary_err
follow(struct logs *logs, granary_client *client)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int watch = -1;
    bool ended = false;
    granary_err err = fd < 0 ? gr_fail_errno("inotify") : GRANARY_OK;
    char events[4096];

    while (err == GRANARY_OK && ferror(stdout) == 0) {
        if (watch < 0) { /* the folder comes with the first file */
            watch = inotify_add_watch(fd, logs->folder, IN_CREATE | IN_MODIFY | IN_DELETE_SELF);
        }
        ended = has_ended(logs, client); /* before the files are read, so that nothing is missed */
        err = find_files(logs);
        err = err == GRANARY_ENOENT ? GRANARY_OK : err;
        show_all(logs);
        if (ended) {
            break;
        }
        (void)poll(&poll_fd, 1, TICK_MS);
        while (read(fd, events, sizeof events) > 0) {
        }
    }
    gr_fd_close(&fd);
    return err;
}

/* Of a subtask that has printed nothing: whether it is there, if anybody can tell. */
static granary_err
check_subtask(const struct logs *logs, const granary_connect_options *connect, granary_client **client)
{
    char name[GRANARY_KEY_MAX + 24];
    const char *key = name;
    granary_query query = {.subject = "subtasks", .keys = &key, .key_count = 1};
    granary_table *table = NULL;
    granary_err err = *client == NULL ? granary_connect(connect, client) : GRANARY_OK;

    (void)snprintf(name, sizeof name, "%s/%" PRId64, logs->key, logs->subtask);
    err = err == GRANARY_OK ? granary_info(*client, &query, &table) : err;
    granary_table_free(table);
    return err == GRANARY_ENOENT
               ? gr_fail(err, "graph '%s': no subtask %" PRId64 ", or nothing is known of it any more", logs->key,
                         logs->subtask)
               : GRANARY_OK;
}

/* ---- the command ---- */

static int
run_logs(struct cli *cli)
{
    struct logs *logs = cli->self;
    granary_connect_options connect = {.instance = cli->instance, .session = cli->session, .tag = "granary"};
    struct gr_instance instance;
    granary_err err = gr_instance_resolve(cli->instance, &instance);
    bool folder;
    long pid;

    if (err != GRANARY_OK) {
        return err;
    }
    logs->cli = cli;
    choose(logs, &instance, cli->arguments[0]);
    logs->escape = isatty(STDOUT_FILENO) == 1;
    folder = access(logs->folder, F_OK) == 0;
    if (logs->follow || (!folder && !scheduler_stopped(&instance, &pid))) { /* somebody is needed who knows the graph */
        (void)granary_connect(&connect, &cli->client);
    }
    if (!folder) {
        err = cli->client == NULL ? gr_fail(GRANARY_ENOENT, "graph '%s': nothing it printed is kept", logs->key)
                                  : granary_graph_wait(cli->client, logs->key, 0, NULL);
        err = err == GRANARY_ENOENT || err == GRANARY_EUNREACHABLE ? err : GRANARY_OK;
    }
    if (err == GRANARY_OK && logs->follow && !cli->json) {
        err = follow(logs, cli->client);
    } else if (err == GRANARY_OK) {
        err = folder ? find_files(logs) : GRANARY_OK;
        if (err == GRANARY_OK && logs->count == 0 && logs->subtask >= 0 && !scheduler_stopped(&instance, &pid)) {
            err = check_subtask(logs, &connect, &cli->client);
        }
        show_all(logs);
    }
    cli_disconnect(cli);
    free(logs->items);
    return err;
}

static const struct gr_option logs_options[] = {
    {"follow", 'f', NULL, "continue until the graph has ended", GR_OPTION_FLAG(struct logs, follow)},
    {"tail", 'n', "LINES", "print only the last lines of each subtask",
     GR_OPTION_NUMBER(struct logs, tail, 0, 1 << 30)},
    {0}};

const struct command command_logs = {
    .options = logs_options, COMMAND_SELF(struct logs, .tail = -1), .plain = true, .run = run_logs};
