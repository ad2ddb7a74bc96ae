/* granary info, bands, functions, graphs, graph, tasks, meta: what the scheduler knows, as tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/print/show.h"
#include "cli/scheduler/table.h"

struct tables {
    struct table_view view;
    int level;   /* of `graph`: of "tileable|chunk|subtask"; -1: not given */
    bool chunks; /* of `meta` */
};

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
    struct table_view *view = target;
    const char *const *states = strcmp(view->subject, "graphs") == 0 ? graphs : subtasks;

    while (*states != NULL && strcmp(*states, state) != 0) {
        states++;
    }
    view->where = "state";
    view->is = state;
    return *states != NULL ? GRANARY_OK
                           : gr_fail(GRANARY_EINVAL, "%s have no state '%s': --help lists them", view->subject, state);
}

const struct command command_info = {
    .access = &table_access, COMMAND_SELF(struct table_view, .named = true), .plain = true, .run = table_show};

const struct command command_bands = {
    .access = &table_access, COMMAND_SELF(struct table_view, .subject = "bands"), .plain = true, .run = table_show};

const struct command command_functions = {
    .access = &table_access, COMMAND_SELF(struct table_view, .subject = "functions"), .plain = true, .run = table_show};

static const struct gr_option graphs_options[] = {{"state", 0, "STATE", "only those in this state, one of:"
#define GRAPH_STATE(name, NAME) " " #name
#define GRAPH_MARK(name)        " " #name
#include "contract/states.def"
                                                   ,
                                                   GR_OPTION_TAKE(choose_state)},
                                                  {0}};

const struct command command_graphs = {
    .options = graphs_options,
    .access = &table_access,
    COMMAND_SELF(struct table_view, .subject = "graphs",
                 .shown = "key,session,state,progress,done,subtasks,running,ready,retries,submitted_ms,message"),
    .plain = true,
    .run = table_show};

static const struct gr_option tasks_options[] = {{"state", 0, "STATE", "only those in this state, one of:"
#define SUBTASK_STATE(name, NAME) " " #name
#include "contract/states.def"
                                                  ,
                                                  GR_OPTION_TAKE(choose_state)},
                                                 {0}};

const struct command command_tasks = {
    .options = tasks_options,
    .access = &table_access,
    COMMAND_SELF(struct table_view, .subject = "subtasks",
                 .shown = "subtask,node,ops,state,attempt,executor,band,in_bytes,out_bytes,lease_ns,store_ns,error"),
    .plain = true,
    .run = table_show};

static int
show_meta(struct cli *cli)
{
    struct tables *tables = cli->self;

    tables->view.subject = tables->chunks ? "chunks" : "tileables";
    return table_show(cli);
}

static const struct gr_option meta_options[] = {
    {"chunks", 0, NULL, "list the chunks of the results, object by object", GR_OPTION_FLAG(struct tables, chunks)},
    {0}};

const struct command command_meta = {
    .options = meta_options, .access = &table_access, COMMAND_ZERO(struct tables), .plain = true, .run = show_meta};

/* The plan as text. */
static int
print_plan(struct cli *cli, const char *key)
{
    char *text = NULL;
    granary_err err = granary_graph_analyze(cli->client, key, &text);

    if (err == GRANARY_OK) {
        (void)show_lines(text, strlen(text), false);
    }
    free(text);
    return err;
}

enum { LEVEL_TILEABLE, LEVEL_CHUNK, LEVEL_SUBTASK };

static int
show_graph(struct cli *cli)
{
    struct tables *tables = cli->self;

    if (tables->level == LEVEL_CHUNK) {
        return print_plan(cli, tables->view.keys[0]);
    }
    tables->view.key_count = 1;
    tables->view.subject = tables->level == LEVEL_TILEABLE  ? "tileables"
                           : tables->level == LEVEL_SUBTASK ? "subtasks"
                                                            : "graphs";
    return table_show(cli);
}

static const struct gr_option graph_options[] = {
    {"level", 0, "LEVEL", "show its targets (tileable), its plan (chunk), or its subtasks (subtask)",
     GR_OPTION_CHOICE(struct tables, level, "tileable|chunk|subtask")},
    {0}};

const struct command command_graph = {.options = graph_options,
                                      .access = &table_access,
                                      COMMAND_SELF(struct tables, .level = -1),
                                      .plain = true,
                                      .run = show_graph};
