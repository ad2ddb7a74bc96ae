/* granary info, bands, functions, graphs, graph, tasks, meta: what the scheduler knows, as tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/cli.h"
#include "cli/print/show.h"
#include "cli/scheduler/scheduler.h"
#include "cli/scheduler/table.h"

struct tables {
    struct table_view view;
    const char *level; /* of `graph` */
    bool chunks;       /* of `meta` */
};

/* --session means those of one, of what belongs to sessions. */
static void
choose_session(struct tables *tables)
{
    const char *subject = tables->view.subject;

    if (subject != NULL && (strcmp(subject, "graphs") == 0 || strcmp(subject, "functions") == 0)) {
        tables->view.session = tables->view.cli->session;
    }
}

/* The states there are, so that a wrong one is told. */
static granary_err
choose_state(void *target, char *state)
{
    static const char *const graphs[] = {
#define GRAPH_STATE(name, NAME) #name,
#define GRAPH_MARK(name)        #name,
#include "contract/states.def"
        NULL};
    static const char *const subtasks[] = {
#define SUBTASK_STATE(name, NAME) #name,
#include "contract/states.def"
        NULL};
    struct tables *tables = target;
    const char *const *states = strcmp(tables->view.subject, "graphs") == 0 ? graphs : subtasks;

    while (*states != NULL && strcmp(*states, state) != 0) {
        states++;
    }
    tables->view.where = "state";
    tables->view.is = state;
    return *states != NULL
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "%s have no state '%s': --help lists them", tables->view.subject, state);
}

/* Parse options and keys. */
static void
begin(struct tables *tables, const struct arguments *arguments, int argc, char **argv)
{
    int first = table_arguments(arguments, tables, &tables->view, argc, argv);

    tables->view.keys = (const char *const *)(argv + first);
    tables->view.key_count = (size_t)(argc - first);
    choose_session(tables);
}

int
command_info(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {
        .usage = "SUBJECT [KEY...]",
        .doc =
            "Print a table of what the scheduler knows: schedulers, executors, bands, graphs, subtasks, runs, chunks, "
            "tileables, functions or sessions. docs/operations.md tells their fields.",
        .least = 1,
        .most = ARGUMENTS_MANY};
    struct tables tables = {.view = {.cli = cli}};

    begin(&tables, &arguments, argc, argv);
    tables.view.subject = tables.view.keys[0];
    tables.view.keys++;
    tables.view.key_count--;
    choose_session(&tables);
    return table_show(&tables.view);
}

int
command_bands(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {
        .usage = "[NODE...]", .doc = "Print the NUMA nodes with executors.", .most = ARGUMENTS_MANY};
    struct tables tables = {.view = {.cli = cli, .subject = "bands"}};

    begin(&tables, &arguments, argc, argv);
    return table_show(&tables.view);
}

int
command_functions(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {.usage = "[NAME...]",
                                               .doc =
                                                   "Print the functions and reusable variables that libraries export.",
                                               .most = ARGUMENTS_MANY};
    struct tables tables = {.view = {.cli = cli, .subject = "functions"}};

    begin(&tables, &arguments, argc, argv);
    return table_show(&tables.view);
}

int
command_graphs(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {{"state", 0, "STATE", "only those in this state, one of:"
#define GRAPH_STATE(name, NAME) " " #name
#define GRAPH_MARK(name)        " " #name
#include "contract/states.def"
                                                ,
                                                GR_OPTION_TAKE(choose_state)},
                                               {0}};
    static const struct arguments arguments = {.options = options,
                                               .usage = "[KEY...]",
                                               .doc = "Print submissions: how far they are, and what became of them.",
                                               .most = ARGUMENTS_MANY};
    struct tables tables = {
        .view = {.cli = cli,
                 .subject = "graphs",
                 .shown = "key,session,state,progress,done,subtasks,running,ready,retries,submitted_ms,message"}};

    begin(&tables, &arguments, argc, argv);
    return table_show(&tables.view);
}

int
command_tasks(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {{"state", 0, "STATE", "only those in this state, one of:"
#define SUBTASK_STATE(name, NAME) " " #name
#include "contract/states.def"
                                                ,
                                                GR_OPTION_TAKE(choose_state)},
                                               {0}};
    static const struct arguments arguments = {
        .options = options,
        .usage = "[KEY[/SUBTASK]...]",
        .doc = "Print the subtasks of graphs, or of all known graphs: which executor runs them, and what failed.",
        .most = ARGUMENTS_MANY};
    struct tables tables = {
        .view = {.cli = cli,
                 .subject = "subtasks",
                 .shown = "subtask,node,ops,state,attempt,executor,band,in_bytes,out_bytes,lease_ns,store_ns,error"}};

    begin(&tables, &arguments, argc, argv);
    return table_show(&tables.view);
}

int
command_meta(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"chunks", 0, NULL, "the chunks of the results, object by object", GR_OPTION_FLAG(struct tables, chunks)}, {0}};
    static const struct arguments arguments = {.options = options,
                                               .usage = "KEY[/TARGET]...",
                                               .doc = "Print what results are: dtypes, shapes, and how they are cut.",
                                               .least = 1,
                                               .most = ARGUMENTS_MANY};
    struct tables tables = {.view = {.cli = cli}};

    begin(&tables, &arguments, argc, argv);
    tables.view.subject = tables.chunks ? "chunks" : "tileables";
    return table_show(&tables.view);
}

/* The plan as text: --level tileable and chunk. */
static int
print_plan(struct cli *cli, granary_client *client, const char *key)
{
    char *text = NULL;
    granary_err err = granary_graph_analyze(client, key, &text);

    if (err != GRANARY_OK) {
        return cli_fail_plain(err);
    }
    (void)show_lines(text, strlen(text), false);
    free(text);
    (void)cli;
    return 0;
}

int
command_graph(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {{"level", 0, "LEVEL",
                                                "tileable: its targets; chunk: its plan; subtask: its subtasks",
                                                GR_OPTION_CHOICE(struct tables, level, "tileable|chunk|subtask")},
                                               {0}};
    static const struct arguments arguments = {.options = options,
                                               .usage = "KEY",
                                               .doc = "Print one submission, and with --level what it consists of.",
                                               .least = 1,
                                               .most = ARGUMENTS_MANY};
    struct tables tables = {.view = {.cli = cli}};
    granary_client *client;
    int status = 0;
    granary_err err = GRANARY_OK;

    begin(&tables, &arguments, argc, argv);
    client = scheduler_connect(cli, &status);
    if (client == NULL) {
        return status;
    }
    if (tables.level != NULL && strcmp(tables.level, "chunk") == 0) {
        status = print_plan(cli, client, tables.view.keys[0]);
    } else {
        tables.view.key_count = 1;
        tables.view.subject = tables.level == NULL                   ? "graphs"
                              : strcmp(tables.level, "subtask") == 0 ? "subtasks"
                                                                     : "tileables";
        err = table_print(&tables.view, client, NULL);
        status = err == GRANARY_OK ? 0 : cli_fail_plain(err);
    }
    granary_disconnect(client);
    return status;
}
