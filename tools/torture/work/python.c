/*
 * Each worker is a process of Python that runs the program it was given: PROGRAM KIND INSTANCE SEED NAME. It works until its
 * standard input can be read.
 * tests/python/load/worker.py is such a program. Its lines of output tell what it did since the line before, and what was wrong.
 *
 * Beside it, nodes.py keeps a cluster of two nodes from the first load to the end: PROGRAM DIRECTORY, until its standard input
 * ends. DIRECTORY/nodes.json is there as soon as they are.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process/elf.h"
#include "granary/call.h"
#include "granary/graph.h"
#include "granary/hold.h"
#include "torture/common/client.h"
#include "torture/common/random.h"
#include "torture/work/work.h"

#define INTERPRETER "/usr/bin/python3" /* Debian's, for which the package is built */
#define NAME_BEGIN  "load-"
#define HOST        "granary_host" /* the library that the package exports */
#define REPORT_MOST (1u << 20)
#define DONE        "\"done\": "

/* Calls have executors all the time: in the session of the others, those would wait for their share for minutes. */
#define CALLS     "torture-calls"
#define FUNCTIONS "functions"

static const char *const kinds[] = {"arrays", FUNCTIONS, "frames", "objects"};

#define NODES      "nodes.py"
#define NODES_FILE "GRANARY_LOAD_NODES" /* variable of the workers that ask them */
#define NODES_END  180000               /* ms */

struct bell {
    int ends[2]; /* a byte in it tells all to stop */
    pid_t nodes; /* what keeps them; 0: none does */
    int keeps;   /* as long as it is open */
};

static bool
create(struct work *work)
{
    struct bell *bell = calloc(1, sizeof *bell);

    work->own = bell;
    if (bell != NULL) {
        bell->keeps = -1;
    }
    return bell != NULL && pipe2(bell->ends, O_CLOEXEC | O_NONBLOCK) == 0;
}

/* ---- nodes under Dask ---- */

static void
nodes_program(const char *python, char path[static PATH_MAX])
{
    const char *slash = strrchr(python, '/');

    (void)snprintf(path, PATH_MAX, "%.*s" NODES, slash == NULL ? 0 : (int)(slash + 1 - python), python);
}

bool
work_has_dask(const char *python)
{
    char path[PATH_MAX];
    pid_t child;
    int status = 1;

    nodes_program(python, path);
    if (access(path, R_OK) < 0) {
        return false;
    }
    child = fork();
    if (child == 0) {
        (void)execl(INTERPRETER, INTERPRETER, "-c",
                    "import importlib.util, sys; sys.exit(importlib.util.find_spec('distributed') is None)",
                    (char *)NULL);
        _exit(1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* The child's side: it ends when nobody has the other end of its input any more, and cleans up then. */
static void
run_nodes(const struct work *work, int in)
{
    char program[PATH_MAX], log[PATH_MAX];
    int out;

    nodes_program(work->site->python, program);
    (void)snprintf(log, sizeof log, "%s/nodes.log", work->site->directory);
    out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    (void)setpgid(0, 0);
    if (out >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0) {
        (void)execl(INTERPRETER, INTERPRETER, "-B", program, work->site->directory, (char *)NULL);
    }
    _exit(127);
}

static bool
create_nodes(struct work *work)
{
    struct bell *bell;
    int ends[2];

    if (!create(work) || pipe2(ends, O_CLOEXEC) < 0) {
        return false;
    }
    bell = work->own;
    bell->nodes = fork();
    if (bell->nodes == 0) {
        run_nodes(work, ends[0]);
    }
    gr_fd_close(&ends[0]);
    bell->keeps = ends[1];
    return bell->nodes > 0;
}

static void
end_nodes(struct work *work)
{
    struct bell *bell = work->own;
    struct pollfd poller = {.fd = bell->nodes > 0 ? gr_pidfd_open(bell->nodes) : -1, .events = POLLIN};
    char path[PATH_MAX], *text = NULL;
    size_t size = 0;
    int status = 0;

    gr_fd_close(&bell->keeps);
    if (poller.fd >= 0 && poll(&poller, 1, NODES_END) == 0) {
        (void)kill(bell->nodes, SIGKILL);
    }
    gr_fd_close(&poller.fd);
    if (bell->nodes > 0 && waitpid(bell->nodes, &status, 0) == bell->nodes && status != 0) {
        (void)snprintf(path, sizeof path, "%s/nodes.log", work->site->directory);
        (void)gr_file_read(path, REPORT_MOST, &text, &size);
        work_wrong(work, "nodes ended with %d: %.400s", status,
                   text == NULL ? ""
                   : size > 400 ? text + size - 400
                                : text);
        free(text);
    }
    bell->nodes = 0;
}

static void
destroy(struct work *work)
{
    struct bell *bell = work->own;

    if (bell != NULL) {
        if (bell->nodes > 0) {
            end_nodes(work);
        }
        gr_fd_close(&bell->ends[0]);
        gr_fd_close(&bell->ends[1]);
        free(bell);
    }
}

static bool
set(struct work *work, granary_client *client)
{
    const struct bell *bell = work->own;
    char byte;

    (void)client;
    while (read(bell->ends[0], &byte, 1) > 0) {
    }
    return true;
}

static void
stop(struct work *work)
{
    (void)!write(((const struct bell *)work->own)->ends[1], "", 1);
}

static void
report_path(const struct work *work, unsigned number, char path[static PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/%s-%u.out", work->site->directory, work->pack.what, number);
}

static uint64_t
number_behind(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at == NULL ? 0 : strtoull(at + strlen(name), NULL, 10);
}

static uint64_t
done_in(const char *text)
{
    uint64_t done = 0;

    while ((text = strstr(text, DONE)) != NULL) {
        done += strtoull(text += strlen(DONE), NULL, 10);
    }
    return done;
}

/* Whether each worker has done something. */
static bool
has_begun(const struct work *work)
{
    bool begun = true;

    for (unsigned number = 0; number < work->pack.count; number++) {
        char path[PATH_MAX], *text = NULL;
        size_t size = 0;

        report_path(work, number, path);
        begun = begun && gr_file_read(path, REPORT_MOST, &text, &size) == GRANARY_OK && done_in(text) > 0;
        free(text);
    }
    return begun;
}

static void
run(struct work *work, granary_client *client, unsigned number, uint64_t seed)
{
    const struct bell *bell = work->own;
    const char *kind = work->kind == &work_dask ? work->pack.what : kinds[number % (sizeof kinds / sizeof kinds[0])];
    char path[PATH_MAX], dice[24], name[64];
    int out;

    (void)client;
    report_path(work, number, path);
    out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    (void)snprintf(dice, sizeof dice, "%" PRIu32, (uint32_t)random_next(&seed));
    (void)snprintf(name, sizeof name, NAME_BEGIN "%s-%d", kind, (int)getpid());
    (void)snprintf(path, sizeof path, "%s/nodes.json", work->site->directory);
    (void)setenv(NODES_FILE, path, 1);
    if (strcmp(kind, FUNCTIONS) == 0) {
        (void)setenv("GRANARY_SESSION", CALLS, 1);
    }
    if (out >= 0 && dup2(bell->ends[0], STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0) {
        (void)execl(INTERPRETER, INTERPRETER, "-B", work->site->python, kind, work->site->instance, dice, name,
                    (char *)NULL);
    }
    perror("granary: torture: " INTERPRETER);
    _exit(1);
}

/* ---- the run's own part ---- */

/* Each line is what one worker told, since the line before. */
static void
take_reports(struct work *work)
{
    for (unsigned number = 0; number < work->pack.count; number++) {
        char path[PATH_MAX];
        char *text = NULL, *rest = NULL;
        size_t size = 0;

        report_path(work, number, path);
        if (gr_file_read(path, REPORT_MOST, &text, &size) != GRANARY_OK) {
            continue;
        }
        for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
            atomic_fetch_add(&work->board->done, done_in(line));
            atomic_fetch_add(&work->board->undone, number_behind(line, "\"undone\": "));
            if (strstr(line, "\"wrong\": null") == NULL) {
                work_wrong(work, "%.300s", line);
            }
        }
        free(text);
        (void)unlink(path);
    }
}

/* Names of killed workers. */
static granary_err
remove_names(granary_client *client)
{
    granary_name names[32] = {{.name = ""}};
    size_t count = 0;
    granary_err err;

    do {
        err = granary_name_list(client, NAME_BEGIN, names, sizeof names / sizeof names[0], &count);
        for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
            err = granary_name_set(client, names[i].name, (granary_id){{0}}, GRANARY_NAME_ANY, (granary_id){{0}}, NULL);
        }
    } while (err == GRANARY_OK && count > 0);
    return err;
}

/* The file of a library, from a program that was killed before its granary_export() returned. */
static granary_err
remove_cut_exports(granary_client *client)
{
    granary_object_info *infos = NULL;
    size_t count = 0;
    granary_err err = granary_object_list(client, &infos, &count);

    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        granary_view view;
        bool is_library;

        if (granary_object_get(client, infos[i].id, 0, &view) != GRANARY_OK) {
            continue; /* it is gone, or an error */
        }
        is_library = gr_elf_check(view.data, view.data_size) == GRANARY_OK;
        granary_object_release(client, &view);
        if (is_library) {
            (void)granary_object_delete(client, infos[i].id, 0);
        }
    }
    free(infos);
    return err;
}

/* What runs the slots, and what is left of graphs, in a session. Errors: as of calls */
static granary_err
clear(const struct work *work, const char *session)
{
    const granary_connect_options options = {.instance = work->site->instance,
                                             .session = session,
                                             .tag = "torture",
                                             .timeout_ms = CLIENT_PATIENCE_MS,
                                             .reconnect_ms = CLIENT_PATIENCE_MS};
    granary_client *client = NULL;
    granary_err err = granary_connect(&options, &client);

    err = err == GRANARY_OK ? remove_names(client) : err;
    if (err == GRANARY_OK) {
        err = granary_unexport(client, HOST, NULL);
        err = err == GRANARY_ENOENT ? GRANARY_OK : err;
    }
    err = err == GRANARY_OK ? granary_graph_delete_all(client, session, NULL) : err;
    err = err == GRANARY_OK ? remove_cut_exports(client) : err;
    granary_disconnect(client);
    return err;
}

static size_t
judge(struct work *work, granary_client *client, FILE *out)
{
    const granary_err err = clear(work, "default");

    (void)client;
    (void)out;
    (void)work_count(work, err == GRANARY_OK ? clear(work, CALLS) : err, "clean up");
    take_reports(work);
    return 0;
}

const struct work_kind work_python = {.create = create,
                                      .destroy = destroy,
                                      .set = set,
                                      .stop = stop,
                                      .run = run,
                                      .judge = judge,
                                      .has_begun = has_begun,
                                      .by_itself = true};

const struct work_kind work_dask = {.create = create_nodes,
                                    .end = end_nodes,
                                    .destroy = destroy,
                                    .set = set,
                                    .stop = stop,
                                    .run = run,
                                    .judge = judge,
                                    .has_begun = has_begun,
                                    .by_itself = true};
