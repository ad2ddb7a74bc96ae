/* granary run, and granary sql: from a graph to printed targets. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/process/limits.h"
#include "base/text/buf.h"
#include "cli/cluster/on.h"
#include "cli/command/pager.h"
#include "cli/instance/private.h"
#include "cli/instance/supervisor/supervisor.h"
#include "cli/print/show.h"
#include "cli/work/elsewhere.h"
#include "cli/work/parsed.h"
#include "cli/work/progress.h"
#include "cli/work/run/discard.h"
#include "cli/work/run/targets.h"
#include "client/learn.h"
#include "client/resolve.h"
#include "client/submit.h"
#include "data/file/paths/spool.h"
#include "graph_json/json.h"
#include "optimize/graph.h"

#define GRAPH_FILE_MAX ((size_t)256 << 20)
#define PATIENCE_MS    5000

static granary_err
read_graph(granary_client *client, const char *path, char **ret_text, size_t *ret_size)
{
    (void)client;
    return gr_file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, GRAPH_FILE_MAX, ret_text, ret_size);
}

/*
 * An instance for this run alone, in a directory of its own; it ends with this process, whatever happens to it. At a
 * group's store it has no other.
 */
static granary_err
start_private(struct run *run, const struct gr_instance *meant)
{
    static char directory[PRIVATE_DIRECTORY];
    granary_err err = private_start(&run->private, meant, directory, &run->private_pid);

    if (err == GRANARY_OK) {
        run->cli->instance = directory;
    }
    return err;
}

granary_err
run_begin_private(struct cli *cli)
{
    struct run *run = cli->self;
    struct gr_instance instance;
    const char *named = cli->instance != NULL ? cli->instance : getenv("GRANARY_INSTANCE");
    bool up = false;
    granary_err err = gr_instance_resolve(cli->instance, &instance);

    err = err == GRANARY_OK ? supervisor_summon(&instance, &up) : err;
    if (err != GRANARY_OK || up || (named != NULL && named[0] != '\0' && instance.shared[0] == '\0')) {
        return err; /* whatever is wrong with it, the first statement tells */
    }
    err = gr_instance_check_own(instance.runtime);
    if (err != GRANARY_OK) {
        return err;
    }
    run->cli = cli;
    run->private.executors = run->private.executors == 0 ? gr_usable_cpus() : run->private.executors;
    return start_private(run, &instance);
}

void
run_end_private(struct cli *cli)
{
    private_stop(&((struct run *)cli->self)->private, &((struct run *)cli->self)->private_pid);
}

/* Use the instance that is up. Without one: the default name means a private one, a name somebody chose means a
 * mistake. */
static granary_err
choose_instance(struct run *run)
{
    struct gr_instance instance;
    const char *named = run->cli->instance != NULL ? run->cli->instance : getenv("GRANARY_INSTANCE");
    bool up = false;
    granary_err err = gr_instance_resolve(run->cli->instance, &instance);

    err = err == GRANARY_OK ? supervisor_summon(&instance, &up) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    if (up) {
        if ((run->private.memory != NULL || run->private.executors != 0) && run->on_where == NULL) {
            cli_note("%s: instance %s is up: --memory and --executors have no effect on it", run->cli->name,
                     instance.name);
        }
        return GRANARY_OK;
    }
    err = gr_instance_check_own(instance.runtime);
    if (err != GRANARY_OK) {
        return err;
    }
    if (run->acts && run->on_where != NULL) {
        return gr_fail(GRANARY_EINVAL, "--on is for SELECT: the statement changes tables of this instance");
    }
    if (run->acts && instance.shared[0] == '\0') {
        return gr_fail(GRANARY_EUNREACHABLE,
                       "instance %s is not up, and a private one keeps no tables: `granary up` starts one",
                       instance.name);
    }
    if (run->keep != NULL) {
        return gr_fail(GRANARY_EUNREACHABLE,
                       "--keep %s: instance %s is not up, and a private one keeps nothing: `granary up` starts one",
                       run->keep, instance.name);
    }
    if (named != NULL && named[0] != '\0' && instance.shared[0] == '\0') {
        return gr_fail(GRANARY_EUNREACHABLE,
                       "instance %s is not up: start it with `granary up --instance %s`, or leave "
                       "the name out for a private one",
                       named, named);
    }
    if (run->private.memory != NULL && instance.shared[0] != '\0') {
        return gr_fail(GRANARY_EINVAL, "--memory is for who runs the store at %s: leave it out", instance.shared);
    }
    if (run->private.executors == 0) {
        run->private.executors = gr_usable_cpus();
    }
    return start_private(run, &instance);
}

static granary_err
wait_for(struct run *run, granary_client *client, const char *key)
{
    /* The scheduler ends it in time, and says how far it was; this is for one that does not answer. */
    int64_t deadline = gr_deadline_ns(run->timeout_ms > 0 ? run->timeout_ms + PATIENCE_MS : -1);
    granary_graph_status status = {0};
    granary_err err = progress_wait(client, key, deadline, &status);

    if (err == GRANARY_ETIMEDOUT && status.state == GRANARY_GRAPH_RUNNING) {
        (void)granary_graph_delete(client, key);
        err =
            gr_fail(GRANARY_ETIMEDOUT, "not done after %.1f s: stopped (%" PRIu64 " of %" PRIu64 " subtasks were done)",
                    run->timeout_ms / 1000.0, status.subtasks_done, status.subtasks_total);
    }
    return err;
}

/* Whether a graph names what is settled before it is sent: see gr_submit(). */
static bool
names_objects(const Granary__Graph *graph)
{
    static const char *const ops[] = {"object", "table"};
    bool any = graph->level == GRANARY__GRAPH__LEVEL__CHUNK;

    for (size_t i = 0; i < graph->n_nodes && !any; i++) {
        for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++) {
            any = any || strcmp(graph->nodes[i]->op, ops[o]) == 0;
        }
    }
    return any;
}

/* A place in a statement, in the text that the statement is of. Returns err. */
static granary_err
place(const struct run *run, granary_err err)
{
    char *message = run->lines + run->columns == 0 ? NULL : strdup(granary_error_message());
    int line, column;
    int end = 0;

    if (message != NULL && sscanf(message, "line %d, column %d: %n", &line, &column, &end) == 2 && end > 0) {
        (void)gr_fail(err, "line %d, column %d: %s", line + run->lines, column + (line == 1 ? run->columns : 0),
                      message + end);
    }
    free(message);
    return err;
}

/* Say what failed, in the source's words. Returns the exit status. */
static int
fail(const struct run *run, granary_client *client, granary_err err)
{
    err = run->source->explain != NULL ? run->source->explain(client, err, run->graph) : err;
    return cli_fail(gr_spool_unname(place(run, err)), "%s", run->label);
}

bool
run_discards(const struct run *run)
{
    return run->private_pid > 0 || (run->keep == NULL && (run->discard || run->explain || !run->source->keeps));
}

/* Send the graph, and wait until it has ended. *ret_key "": it was not taken. */
static granary_err
submit_graph(struct run *run, granary_client *client, const char *text, size_t size, Granary__Graph *graph,
             char ret_key[GRANARY_KEY_MAX])
{
    char fresh[GRANARY_ID_TEXT + 1]; /* no name, or not until the results can take the place of others */
    granary_graph_options options = {.key = run->replace || run->keep == NULL ? fresh : run->keep,
                                     .chunk_bytes = run->chunk_bytes,
                                     .priority = run->priority,
                                     .timeout_ms = run->timeout_ms,
                                     .keep_going = run->keep_going,
                                     .flags = (run->no_recall || run->analyze ? GRANARY_GRAPH_NO_RECALL : 0) |
                                              /* also if the process beside it is killed, or has no answer */
                                              (run_discards(run) || run->replace ? GRANARY_GRAPH_OWNED : 0)};
    char key[GRANARY_KEY_MAX];
    granary_err err;

    ret_key[0] = '\0';
    granary_id_format(granary_id_random(), fresh);
    discard_submitting(&run->remains, options.key, options.key == fresh);
    err = run->spooled || run->on != NULL || names_objects(graph)
              ? gr_submit(client, graph, &options, run_discards(run), key)
              : gr_submit_text(client, text, size, &options, sizeof options, run_discards(run), key);
    if (err == GRANARY_EEXIST) {
        err = gr_fail(err,
                      "there is another table or graph '%s': --replace takes its place, `granary forget %s` deletes it",
                      run->keep, run->keep);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    (void)snprintf(ret_key, GRANARY_KEY_MAX, "%s", key);
    discard_submitted(&run->remains, key);
    err = wait_for(run, client, key);
    if (err == GRANARY_OK && run->replace && (err = granary_graph_rename(client, key, run->keep, true)) == GRANARY_OK) {
        (void)snprintf(ret_key, GRANARY_KEY_MAX, "%s", run->keep);
    }
    if (err == GRANARY_OK && !run_discards(run)) {
        discard_keep(&run->remains, ret_key);
    }
    return err;
}

/* What --explain and --analyze print. */
static void
show_plan(const struct run *run, granary_client *client, const char *key)
{
    char *plan = NULL;

    if ((run->analyze ? granary_graph_analyze : granary_graph_explain)(client, key, &plan) != GRANARY_OK) {
        return;
    }
    if (run->pages) {
        (void)pager_write(plan, strlen(plan), false);
    } else {
        (void)show_lines(plan, strlen(plan), false);
        (void)fflush(stdout);
    }
    free(plan);
}

/* The graph has failed, with err. Returns the exit status. */
static int
end_failed(struct run *run, granary_client *client, const char *key, const Granary__Graph *graph, granary_err err)
{
    int status = fail(run, client, err);

    if (run->keep_going && !run->explain) {
        (void)targets_print(run, client, key, graph, true);
    }
    if (run_discards(run) || run->replace) {
        (void)granary_graph_delete(client, key);
    } else { /* it has nothing but what it can tell */
        cli_note("%s: graph %s: `granary tasks %s` and `granary logs %s` tell more of it", run->cli->name, key, key,
                 key);
    }
    return status;
}

/* It has succeeded. Returns the exit status. */
static int
end_done(struct run *run, granary_client *client, const char *key, const Granary__Graph *graph)
{
    int status = run->explain ? 0 : targets_print(run, client, key, graph, false);

    if (run_discards(run)) {
        (void)granary_graph_delete(client, key);
    } else if (run->source->target != NULL) {
        cli_note("%s: the rows are kept as table '%s': `granary forget %s` deletes it", run->cli->name, key, key);
    } else {
        for (size_t i = 0; i < graph->n_targets; i++) {
            targets_tell(client, key, graph->targets[i]);
        }
    }
    return status;
}

static int
run_graph(struct run *run, granary_client *client, const char *text, size_t size, Granary__Graph *graph)
{
    char key[GRANARY_KEY_MAX];
    granary_err err = run->keep == NULL ? GRANARY_OK : gr_check_no_table(client, run->keep);

    if (err != GRANARY_OK) { /* before anything runs */
        return cli_fail(err, "%s", run->cli->name);
    }
    err = run->on_where == NULL ? GRANARY_OK : elsewhere_run(run, client, text, size, &graph);
    if (err != GRANARY_OK) {
        return fail(run, client, err);
    }
    err = submit_graph(run, client, text, size, graph, key);
    if (key[0] == '\0') {
        return fail(run, client, err);
    }
    if (run->explain) {
        show_plan(run, client, key);
    }
    return err == GRANARY_OK ? end_done(run, client, key, graph) : end_failed(run, client, key, graph, err);
}

/* The graph, checked, and whether outputs fit to it. */
static granary_err
make_graph(struct run *run, granary_client *client, char **ret_text, size_t *ret_size, struct parsed *ret_parsed)
{
    granary_err err = run->source->make(client, run->graph, ret_text, ret_size);

    if (err != GRANARY_OK) {
        return err;
    }
    if (run->on_where != NULL) {
        err = elsewhere_plan(run, client, *ret_text, *ret_size, &ret_parsed->message);
        return err == GRANARY_OK ? targets_check(run, ret_parsed->message) : err;
    }
    err = parsed_read(*ret_text, *ret_size, &run->spooled, ret_parsed);
    if (err != GRANARY_OK && run->source->label == NULL) {
        return gr_fail_in(err, "%s", run->label);
    }
    return err == GRANARY_OK ? targets_check(run, ret_parsed->message) : err;
}

static granary_err
optimize(granary_client *client, const struct parsed *parsed, struct gr_graph **ret_graph)
{
    struct gr_graph *graph = NULL;
    granary_err err = parsed->tileables == NULL
                          ? gr_fail(GRANARY_EINVAL, "--optimized: a graph of chunk operators is run as it is")
                          : gr_learn(client, parsed->message, &graph);

    if (err == GRANARY_OK) {
        err = gr_graph_optimize(graph, ret_graph);
    }
    gr_graph_destroy(graph);
    return err;
}

static int
show_graph(const struct run *run, granary_client *client, const struct parsed *parsed)
{
    struct gr_graph *optimized = NULL;
    struct gr_buf out = {0};
    granary_err err = run->optimized ? optimize(client, parsed, &optimized) : GRANARY_OK;
    int status;

    if (err == GRANARY_OK) {
        err = gr_graph_to_json(optimized == NULL ? parsed->message : optimized->message, &out);
    }
    gr_buf_addf(&out, "\n");
    status = err == GRANARY_OK ? cli_write_file("-", out.bytes, out.size)
             : run->optimized  ? fail(run, client, err)
                               : cli_fail(err, "graph");
    gr_graph_destroy(optimized);
    gr_buf_free(&out);
    return status;
}

/* Whether the graph is made with the client's help. */
static bool
needs_client(const struct run *run)
{
    return run->source->needs_client || run->on_where != NULL;
}

/* Whether an instance is asked or has something to do. */
static bool
needs_instance(const struct run *run)
{
    return needs_client(run) || !run->show_graph || run->optimized;
}

/* What is wrong before anything is started; without the need of a client that is the graph, too. */
static granary_err
prepare_run(struct cli *cli, struct run *run, char **ret_text, size_t *ret_size, struct parsed *ret_parsed)
{
    const struct run_source *source = run->source;
    granary_err err = GRANARY_OK;

    if (cli->count != 1) {
        return cli->count == 0 ? gr_fail(GRANARY_EINVAL, "which %s? %s", source->what, source->how)
                               : gr_fail(GRANARY_EINVAL, "one %s at a time: '%.60s' is one too many", source->what,
                                         cli->arguments[1]);
    }
    run->cli = cli;
    run->graph = cli->arguments[0];
    run->label = source->label != NULL ? source->label : run->graph;
    if (run->optimized && !run->show_graph) {
        return gr_fail(GRANARY_EINVAL, "--optimized: every graph that runs is; --graph shows it, so write that, too");
    }
    if (run->replace && run->keep == NULL) {
        return gr_fail(GRANARY_EINVAL, "--replace: nothing is named that it could replace: write --keep NAME, too");
    }
    run->acts = source->acts != NULL && source->acts(run->graph);
    if (run->acts && run->on_where != NULL) {
        return gr_fail(GRANARY_EINVAL, "--on is for SELECT: the statement changes tables of this instance");
    }
    if (run->acts && (run->keep != NULL || run->explain || run->show_graph || run->fragments > 0 ||
                      run->single_file != NULL || run->output_count > 0)) {
        return gr_fail(GRANARY_EINVAL,
                       "--keep, --explain, --graph and files are for SELECT: the statement has no rows");
    }
    if (!needs_client(run)) {
        err = make_graph(run, NULL, ret_text, ret_size, ret_parsed);
    }
    if (err == GRANARY_OK && needs_instance(run)) {
        err = choose_instance(run);
    }
    return err == GRANARY_OK && run->on_where != NULL ? elsewhere_open(run) : err;
}

/* Do what the source's argument says. */
static int
run_act(struct run *run)
{
    struct cli *cli = run->cli;
    char label[GRANARY_ID_TEXT + 1];
    granary_err err = GRANARY_OK;
    int status;

    granary_id_format(granary_id_random(), label);
    discard_begin(cli,
                  &(struct discard_options){.what = cli->name,
                                            .forget = run->source->forget,
                                            .outcome = "it is stopped, and was done as a whole or not at all",
                                            .unsure = "it may go on: `granary graphs` tells"},
                  &run->remains);
    status = cli_connect(cli);
    if (status == 0) {
        discard_submitted(&run->remains, label); /* before there is anything */
        err = run->source->act(cli, run->graph, run->timeout_ms, label);
    }
    return err != GRANARY_OK ? cli_fail(gr_spool_unname(place(run, err)), "%s", run->label) : status;
}

int
run_source(struct cli *cli)
{
    struct run *run = cli->self;
    struct parsed parsed = {0};
    char *text = NULL;
    size_t size = 0;
    granary_err err = prepare_run(cli, run, &text, &size, &parsed);
    int status = err;

    if (err != GRANARY_OK) {
        goto out;
    }
    if (run->acts) {
        status = run_act(run);
        goto out;
    }
    if (needs_instance(run)) {
        discard_begin(cli,
                      &(struct discard_options){.what = cli->name,
                                                .stays = run->replace ? run->keep : NULL,
                                                .only_interrupted = !run_discards(run) && !run->replace,
                                                .private_pid = run->private_pid},
                      &run->remains);
        status = cli_connect(cli);
        if (status != 0) {
            goto out;
        }
    }
    if (needs_client(run) && (err = make_graph(run, cli->client, &text, &size, &parsed)) != GRANARY_OK) {
        status = fail(run, cli->client, err);
        goto out;
    }
    if (run->show_graph) {
        status = show_graph(run, cli->client, &parsed);
    } else if (run->fragments > 0 && run->on == NULL) {
        err = elsewhere_show(run, cli->client, parsed.message, &status);
        status = err == GRANARY_OK ? status : fail(run, cli->client, err);
    } else {
        status = run_graph(run, cli->client, text, size, parsed.message);
    }
out:
    cli_disconnect(cli);
    discard_end(&run->remains);
    if (status < 0) { /* before what follows has errors of its own */
        status = cli_fail((granary_err)status, "%s", cli->name);
    }
    on_close(run->on);
    private_stop(&run->private, &run->private_pid);
    parsed_free(&parsed);
    free(text);
    return status;
}

static const struct run_source graph_source = {
    .what = "graph", .how = "Name a JSON file, or '-' for stdin", .keeps = true, .make = read_graph};

const struct command command_run = {
    .options = run_graph_options,
    .access = &run_access,
    COMMAND_SELF(struct run, .source = &graph_source, .remains = {.fd = -1}, .max_rows = -1),
    .check = run_check,
    .counts = true,
    .run = run_source};
