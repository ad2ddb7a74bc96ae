/*
 * granary cluster up, down: a pilot job of Slurm. Its script starts one step a node, `granary cluster node`, and
 * again when that is killed: the next one takes over what is in memory there. A job that is cancelled has its steps end in
 * good order, with all that they have.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "cli/cluster/child.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/slurm/pilot.h"
#include "cli/print/listing.h"

#define SBATCH_OPTIONS 64
#define LOOK_MS        100  /* between two looks for nodes: nothing tells of a file of another machine */
#define ASK_MS         1000 /* between two questions about the job */
#define STEP_TRIES     5    /* of a node whose step ends in failure */

struct up {
    bool slurm;
    int64_t nodes;
    const char *directory;
    const char *memory;
    int64_t executors;
    int timeout_ms;
    struct pilot pilot;
    bool submitted;
};

/* ---- up ---- */

/* A word for a shell. */
static void
add_word(struct gr_buf *script, const char *word)
{
    gr_buf_addf(script, " '");
    for (; *word != '\0'; word++) {
        gr_buf_addf(script, *word == '\'' ? "'\\''" : "%c", *word);
    }
    gr_buf_addf(script, "'");
}

static granary_err
write_script(const struct up *up, struct gr_buf *script)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    if (length < 0) {
        return gr_fail_errno("/proc/self/exe");
    }
    program[length] = '\0';
    gr_buf_addf(script, "#!/bin/sh\n"
                        "for node in $(scontrol show hostnames \"$SLURM_JOB_NODELIST\"); do\n"
                        "    (\n"
                        "        tries=0\n"
                        "        until srun --nodelist=\"$node\" --nodes=1 --ntasks=1 --overlap --chdir=/");
    add_word(script, program);
    gr_buf_addf(script, " cluster node --directory");
    add_word(script, up->pilot.directory);
    if (up->memory != NULL) {
        gr_buf_addf(script, " --memory");
        add_word(script, up->memory);
    }
    if (up->executors > 0) {
        gr_buf_addf(script, " --executors %d", (int)up->executors);
    }
    gr_buf_addf(script,
                "; do\n"
                "            tries=$((tries + 1))\n"
                "            [ \"$tries\" -lt %d ] || exit 1\n"
                "        done\n"
                "    ) &\n"
                "done\n"
                "wait\n",
                STEP_TRIES);
    return gr_buf_ok(script) ? GRANARY_OK : gr_no_memory("script");
}

/* A directory of this job alone, in one that all machines see. */
static granary_err
make_directory(struct up *up)
{
    char whole[PATH_MAX], path[PATH_MAX + 16];
    const char *const folders[] = {"nodes", "counts"};

    if (realpath(up->directory == NULL ? "." : up->directory, whole) == NULL) {
        return gr_fail_errno("--directory %s", up->directory);
    }
    if (strchr(whole, '\n') != NULL ||
        snprintf(up->pilot.directory, PATH_MAX, "%s/granary-cluster-XXXXXX", whole) >= PATH_MAX - 64) {
        up->pilot.directory[0] = '\0';
        return gr_fail(GRANARY_EINVAL, "--directory %.60s: no path for this", whole);
    }
    if (mkdtemp(up->pilot.directory) == NULL) {
        granary_err err = gr_fail_errno("%s", up->pilot.directory);

        up->pilot.directory[0] = '\0';
        return err;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", up->pilot.directory, folders[i]);
        if (mkdir(path, 0700) < 0) {
            return gr_fail_errno("%s", path);
        }
    }
    return GRANARY_OK;
}

static granary_err
submit(struct up *up, char *const *options, int count)
{
    const char *argv[SBATCH_OPTIONS + 16];
    char nodes[32], output[PATH_MAX + 32], chdir_option[PATH_MAX + 16];
    struct gr_buf script = {0}, out = {0};
    size_t n = 0;
    granary_err err = write_script(up, &script);

    (void)snprintf(nodes, sizeof nodes, "--nodes=%d", (int)up->nodes);
    (void)snprintf(output, sizeof output, "--output=%s/job.log", up->pilot.directory);
    (void)snprintf(chdir_option, sizeof chdir_option, "--chdir=%s", up->pilot.directory);
    argv[n++] = "sbatch";
    argv[n++] = "--parsable";
    argv[n++] = nodes;
    argv[n++] = "--ntasks-per-node=1";
    argv[n++] = "--no-kill"; /* the others go on when a node dies */
    argv[n++] = "--job-name=granary";
    argv[n++] = output;
    argv[n++] = chdir_option;
    for (int i = 0; i < count; i++) {
        argv[n++] = options[i];
    }
    argv[n] = NULL;
    err = err == GRANARY_OK ? child_run(argv, script.bytes, true, &out) : err;
    if (err == GRANARY_OK && sscanf(out.bytes == NULL ? "" : out.bytes, "%31[0-9]", up->pilot.job) != 1) {
        err = gr_fail(GRANARY_EFAILED, "sbatch told no number of a job");
    }
    gr_buf_free(&script);
    gr_buf_free(&out);
    return err;
}

static granary_err
write_state(const struct up *up)
{
    const struct pilot *pilot = &up->pilot;
    char text[2 * PATH_MAX];
    int length =
        snprintf(text, sizeof text, "job %s\nnodes %u\ndirectory %s\n", pilot->job, pilot->nodes, pilot->directory);
    FILE *file = fopen(pilot->state, "wxe");
    granary_err err = file == NULL || fwrite(text, 1, (size_t)length, file) != (size_t)length
                          ? gr_fail_errno("%s", pilot->state)
                          : GRANARY_OK;

    if (file != NULL && fclose(file) != 0 && err == GRANARY_OK) {
        err = gr_fail_errno("%s", pilot->state);
    }
    return err;
}

/* The directory that the file lies in, as `granary up` would make it. */
static granary_err
make_state_directory(const char *state)
{
    char above[PATH_MAX];
    struct stat st;

    (void)snprintf(above, sizeof above, "%s", state);
    *strrchr(above, '/') = '\0';
    if (stat(above, &st) < 0) {
        return gr_mkdir_private(above);
    }
    return st.st_uid == geteuid() || st.st_uid == 0
               ? GRANARY_OK
               : gr_fail(GRANARY_EPERM, "%s belongs to uid %u: choose another directory with --instance", above,
                         (unsigned)st.st_uid);
}

/* Until all nodes are up. */
static granary_err
await_nodes(const struct up *up, struct pilot_node **ret_nodes, size_t *ret_count)
{
    int64_t deadline = gr_deadline_ns(up->timeout_ms > 0 ? up->timeout_ms : -1);
    int64_t ask_at = 0;
    char state[32] = "";

    for (;;) {
        granary_err err = pilot_nodes(&up->pilot, ret_nodes, ret_count);

        if (err == GRANARY_OK && *ret_count >= up->pilot.nodes) {
            return pilot_check_versions(*ret_nodes, *ret_count);
        }
        if (err != GRANARY_OK && err != GRANARY_EUNREACHABLE) {
            return err;
        }
        if (err == GRANARY_OK) {
            free(*ret_nodes);
            *ret_nodes = NULL;
        }
        if (gr_now_ns() >= ask_at) {
            err = pilot_ask(&up->pilot, state);
            if (err != GRANARY_OK) {
                return err;
            }
            if (state[0] == '\0' || strcmp(state, "COMPLETED") == 0 || strcmp(state, "FAILED") == 0) {
                return pilot_failure(&up->pilot);
            }
            ask_at = gr_now_ns() + (int64_t)ASK_MS * 1000000;
        }
        if (gr_now_ns() >= deadline) {
            return gr_fail(GRANARY_ETIMEDOUT, "job %s is %s: `granary cluster status` tells when its nodes are up",
                           up->pilot.job, state);
        }
        (void)poll(NULL, 0, LOOK_MS);
    }
}

static void
forget(const struct pilot *pilot)
{
    char above[PATH_MAX];

    if (pilot->directory[0] != '\0') {
        gr_remove_tree(pilot->directory);
    }
    (void)unlink(pilot->state);
    (void)snprintf(above, sizeof above, "%s", pilot->state);
    *strrchr(above, '/') = '\0';
    if (strncmp(strrchr(above, '/') + 1, "granary", 7) == 0) {
        (void)rmdir(above); /* when nothing is in it */
    }
}

static int
run_up(struct cli *cli)
{
    struct up *up = cli->self;
    struct pilot_node *nodes = NULL;
    size_t count = 0;
    granary_err err;

    if (!up->slurm) {
        return gr_fail(GRANARY_EINVAL, "which machines? --slurm asks Slurm for them");
    }
    if (cli->count > SBATCH_OPTIONS) {
        return gr_fail(GRANARY_EINVAL, "more than %d options for sbatch", SBATCH_OPTIONS);
    }
    err = pilot_find(cli->instance, &up->pilot);
    if (err == GRANARY_OK) {
        return gr_fail(GRANARY_EEXIST,
                       "job %s is there already: `granary cluster status` tells more, and `granary "
                       "cluster down` ends it",
                       up->pilot.job);
    }
    if (err != GRANARY_ENOENT) {
        return err;
    }
    up->pilot.nodes = (unsigned)up->nodes;
    err = make_state_directory(up->pilot.state);
    err = err == GRANARY_OK ? make_directory(up) : err;
    err = err == GRANARY_OK ? submit(up, cli->arguments, cli->count) : err;
    up->submitted = err == GRANARY_OK;
    err = err == GRANARY_OK ? write_state(up) : err;
    if (err != GRANARY_OK) {
        if (up->submitted) {
            const char *const argv[] = {"scancel", up->pilot.job, NULL};
            struct gr_buf out = {0};

            cli_note("cluster up: job %s is cancelled", up->pilot.job);
            (void)child_run(argv, NULL, false, &out);
            gr_buf_free(&out);
        }
        return cli_fail(err, "cluster up"), forget(&up->pilot), granary_error_exit_status(err);
    }
    err = await_nodes(up, &nodes, &count);
    if (err == GRANARY_OK) {
        pilot_tell(&up->pilot, "RUNNING", nodes, count, cli->json);
    }
    free(nodes);
    return err;
}

static const struct gr_option up_options[] = {
    {"slurm", 0, NULL, "ask Slurm for the machines", GR_OPTION_FLAG(struct up, slurm)},
    {"nodes", 'N', "N", "so many machines; default: 2", GR_OPTION_NUMBER(struct up, nodes, 1, 1024)},
    {"directory", 0, "DIR", "a directory that all machines see; default: the working directory",
     GR_OPTION_TEXT(struct up, directory)},
    {"memory", 0, "SIZE", "give each instance this much memory", GR_OPTION_SIZE(struct up, memory, 1), .as_text = true},
    {"executors", 'e', "N", "start N executors on each machine", GR_OPTION_NUMBER(struct up, executors, 1, 1024)},
    {"timeout", 0, "DURATION", "wait at most this long for the machines; the job stays",
     GR_OPTION_MS_FROM(struct up, timeout_ms, 1)},
    {0}};

const struct command cluster_up = {.options = up_options, COMMAND_SELF(struct up, .nodes = 2), .run = run_up};

/* ---- down ---- */

static int
run_down(struct cli *cli)
{
    struct pilot *pilot = cli->self;
    struct gr_buf out = {0};
    char state[32] = "";
    granary_err err = pilot_find(cli->instance, pilot);
    const char *const argv[] = {"scancel", pilot->job, NULL};

    err = err == GRANARY_OK ? pilot_ask(pilot, state) : err;
    if (err == GRANARY_OK && state[0] != '\0') {
        err = child_run(argv, NULL, true, &out);
    }
    gr_buf_free(&out);
    while (err == GRANARY_OK && state[0] != '\0') { /* Slurm tells nobody when a job is gone */
        (void)poll(NULL, 0, LOOK_MS);
        err = pilot_ask(pilot, state);
    }
    if (err == GRANARY_OK) {
        forget(pilot);
        (void)printf("job %s is gone\n", pilot->job);
    }
    return err;
}

const struct command cluster_down = {COMMAND_ZERO(struct pilot), .run = run_down};
