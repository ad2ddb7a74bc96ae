/*
 * Each worker is a process of Python that runs the program it was given: PROGRAM KIND INSTANCE SEED NAME. It works until its
 * standard input can be read; its last line of output is an object that tells what it did, and what was wrong.
 * tests/python/load/worker.py is such a program.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "granary/call.h"
#include "granary/graph.h"
#include "granary/hold.h"
#include "torture/common/client.h"
#include "torture/common/random.h"
#include "torture/work/work.h"

#define INTERPRETER "/usr/bin/python3" /* Debian's, for which the package is built */
#define NAME_BEGIN  "load-"
#define HOST        "granary_host" /* the library that the package exports */
#define REPORT_MOST 65536u

static const char *const kinds[] = {"arrays", "functions", "frames", "objects"};

struct bell {
    int ends[2]; /* a byte in it tells all to stop */
};

static bool
create(struct work *work)
{
    struct bell *bell = calloc(1, sizeof *bell);

    work->own = bell;
    return bell != NULL && pipe2(bell->ends, O_CLOEXEC | O_NONBLOCK) == 0;
}

static void
destroy(struct work *work)
{
    struct bell *bell = work->own;

    if (bell != NULL) {
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
    (void)snprintf(path, PATH_MAX, "%s/python-%u.out", work->site->directory, number);
}

static void
run(struct work *work, granary_client *client, unsigned number, uint64_t seed)
{
    const struct bell *bell = work->own;
    const char *kind = kinds[number % (sizeof kinds / sizeof kinds[0])];
    char path[PATH_MAX], dice[24], name[64];
    int out;

    (void)client;
    report_path(work, number, path);
    out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    (void)snprintf(dice, sizeof dice, "%" PRIu32, (uint32_t)random_next(&seed));
    (void)snprintf(name, sizeof name, NAME_BEGIN "%s-%d", kind, (int)getpid());
    if (out >= 0 && dup2(bell->ends[0], STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0) {
        (void)execl(INTERPRETER, INTERPRETER, "-B", work->site->python, kind, work->site->instance, dice, name,
                    (char *)NULL);
    }
    perror("granary: torture: " INTERPRETER);
    _exit(1);
}

/* ---- the run's own part ---- */

static uint64_t
number_behind(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at == NULL ? 0 : strtoull(at + strlen(name), NULL, 10);
}

/* Each line is what one worker told at its end. */
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
            atomic_fetch_add(&work->board->done, number_behind(line, "\"done\": "));
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

static size_t
judge(struct work *work, granary_client *client, FILE *out)
{
    granary_client *own = NULL;
    granary_err err = client_connect(work->site->instance, CLIENT_PATIENCE_MS, &own);

    (void)client;
    (void)out;
    err = err == GRANARY_OK ? remove_names(own) : err;
    if (err == GRANARY_OK) { /* what runs the slots */
        err = granary_unexport(own, HOST, NULL);
        err = err == GRANARY_ENOENT ? GRANARY_OK : err;
    }
    err = err == GRANARY_OK ? granary_graph_delete_all(own, "default", NULL) : err;
    (void)work_count(work, err, "clean up");
    granary_disconnect(own);
    take_reports(work);
    return 0;
}

const struct work_kind work_python = {
    .create = create, .destroy = destroy, .set = set, .stop = stop, .run = run, .judge = judge, .by_itself = true};
