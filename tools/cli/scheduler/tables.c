/* granary info, bands, functions, graphs, graph, tasks, meta: what the scheduler knows, as tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/cli.h"
#include "cli/print/show.h"
#include "cli/scheduler/scheduler.h"
#include "cli/scheduler/table.h"

enum { KEY_STATE = 0x6000, KEY_LEVEL, KEY_CHUNKS };

struct tables {
    struct table_view view;
    const char *level; /* of `graph` */
    bool chunks;       /* of `meta` */
    int first;         /* argument that is no option */
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
static void
choose_state(struct tables *tables, const char *state, struct argp_state *parser)
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
    const char *const *states = strcmp(tables->view.subject, "graphs") == 0 ? graphs : subtasks;
    size_t i = 0;

    while (states[i] != NULL && strcmp(states[i], state) != 0) {
        i++;
    }
    if (states[i] == NULL) {
        argp_error(parser, "--state: %s have no state '%s': --help lists them", tables->view.subject, state);
    }
    tables->view.where = "state";
    tables->view.is = state;
}

static error_t
parse_tables(int key, char *arg, struct argp_state *state)
{
    struct tables *tables = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &tables->view;
        return 0;
    case KEY_STATE:
        choose_state(tables, arg, state);
        return 0;
    case KEY_LEVEL:
        if (strcmp(arg, "tileable") != 0 && strcmp(arg, "chunk") != 0 && strcmp(arg, "subtask") != 0) {
            argp_error(state, "--level %s: tileable, chunk or subtask", arg);
        }
        tables->level = arg;
        return 0;
    case KEY_CHUNKS:
        tables->chunks = true;
        return 0;
    case ARGP_KEY_ARGS:
        tables->first = state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Parse options and keys; fewer than least keys end the program. */
static void
begin(struct tables *tables, const struct argp_option *options, const char *usage, const char *doc, int least, int argc,
      char **argv)
{
    static const struct argp_child children[] = {{&table_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {options, parse_tables, usage, doc, children, NULL, NULL};

    tables->first = argc;
    cli_parse(&argp, argc, argv, tables);
    if (argc - tables->first < least) {
        (void)fprintf(stderr, "granary: usage: %s %s: `%s --help` tells more\n", argv[0], usage, argv[0]);
        exit(2);
    }
    tables->view.keys = (const char *const *)(argv + tables->first);
    tables->view.key_count = (size_t)(argc - tables->first);
    choose_session(tables);
}

int
command_info(struct cli *cli, int argc, char **argv)
{
    struct tables tables = {.view = {.cli = cli}};

    begin(&tables, NULL, "SUBJECT [KEY...]",
          "Print a table of what the scheduler knows: schedulers, executors, bands, graphs, subtasks, runs, chunks, "
          "tileables, functions or sessions. docs/operations.md tells their fields.",
          1, argc, argv);
    tables.view.subject = tables.view.keys[0];
    tables.view.keys++;
    tables.view.key_count--;
    choose_session(&tables);
    return table_show(&tables.view);
}

int
command_bands(struct cli *cli, int argc, char **argv)
{
    struct tables tables = {.view = {.cli = cli, .subject = "bands"}};

    begin(&tables, NULL, "[NODE...]", "Print the NUMA nodes with executors.", 0, argc, argv);
    return table_show(&tables.view);
}

int
command_functions(struct cli *cli, int argc, char **argv)
{
    struct tables tables = {.view = {.cli = cli, .subject = "functions"}};

    begin(&tables, NULL, "[NAME...]", "Print the functions and reusable variables that libraries export.", 0, argc,
          argv);
    return table_show(&tables.view);
}

int
command_graphs(struct cli *cli, int argc, char **argv)
{
    static const struct argp_option options[] = {{"state", KEY_STATE, "STATE", 0, "only those in this state, one of:"
#define GRAPH_STATE(name, NAME) " " #name
#define GRAPH_MARK(name)        " " #name
#include "contract/states.def"
                                                  ,
                                                  0},
                                                 {0}};
    struct tables tables = {
        .view = {.cli = cli,
                 .subject = "graphs",
                 .shown = "key,session,state,progress,done,subtasks,running,ready,retries,submitted_ms,message"}};

    begin(&tables, options, "[KEY...]", "Print submissions: how far they are, and what became of them.", 0, argc, argv);
    return table_show(&tables.view);
}

int
command_tasks(struct cli *cli, int argc, char **argv)
{
    static const struct argp_option options[] = {{"state", KEY_STATE, "STATE", 0, "only those in this state, one of:"
#define SUBTASK_STATE(name, NAME) " " #name
#include "contract/states.def"
                                                  ,
                                                  0},
                                                 {0}};
    struct tables tables = {
        .view = {.cli = cli,
                 .subject = "subtasks",
                 .shown = "subtask,node,ops,state,attempt,executor,band,in_bytes,out_bytes,lease_ns,store_ns,error"}};

    begin(&tables, options, "[KEY[/SUBTASK]...]",
          "Print the subtasks of graphs, of all that are known without KEY: who runs them, and what failed.", 0, argc,
          argv);
    return table_show(&tables.view);
}

int
command_meta(struct cli *cli, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"chunks", KEY_CHUNKS, NULL, 0, "the chunks of the results, object by object", 0}, {0}};
    struct tables tables = {.view = {.cli = cli}};

    begin(&tables, options, "KEY[/TARGET]...", "Print what results are: dtypes, shapes, and how they are cut.", 1, argc,
          argv);
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
    static const struct argp_option options[] = {
        {"level", KEY_LEVEL, "LEVEL", 0, "tileable: its targets; chunk: its plan; subtask: its subtasks", 0}, {0}};
    struct tables tables = {.view = {.cli = cli}};
    granary_client *client;
    int status = 0;
    granary_err err = GRANARY_OK;

    begin(&tables, options, "KEY", "Print one submission, and with --level what it consists of.", 1, argc, argv);
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
