/* The options of granary run and granary sql. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cluster/places.h"
#include "cli/print/output.h"
#include "cli/work/run/run.h"
#include "granary/cut.h"
#include "granary/sql.h"
#include "sql/params.h"

static granary_err
take_single(struct run *run, const char *path, const struct gr_format *format)
{
    bool first = run->single_file == NULL;

    run->single_file = path;
    run->single_format = format;
    return first ? GRANARY_OK
                 : gr_fail(GRANARY_EINVAL, "--arrow and --npy are for one file: -o NAME=FILE takes several");
}

static granary_err
take_arrow(void *target, char *text)
{
    return take_single(target, text, &gr_format_arrow);
}

static granary_err
take_npy(void *target, char *text)
{
    return take_single(target, text, &gr_format_npy);
}

/* stdout has no ending: a name with one stands for it. */
static granary_err
take_format(void *target, char *text)
{
    static char name[64];
    struct run *run = target;
    const struct gr_format *format;

    (void)snprintf(name, sizeof name, "stdout.%.40s", text);
    run->stdout_format = name;
    return strchr(text, '/') == NULL ? output_format_of(name, &format)
                                     : gr_fail(GRANARY_EINVAL, "'%s' is no ending of a file's name", text);
}

static granary_err
take_mode(void *target, char *text)
{
    struct run *run = target;

    run->mode = text;
    return output_take_mode(text, &run->format);
}

static granary_err
take_param(void *target, char *text)
{
    struct run *run = target;
    char *equals = strchr(text, '=');
    granary_err err = GRANARY_OK;

    if (equals == NULL || equals == text) {
        return gr_fail(GRANARY_EINVAL, "'%.60s' is not NAME=VALUE", text);
    }
    if (run->param_count == RUN_PARAMS_MAX) {
        return gr_fail(GRANARY_EINVAL, "more than %d parameters", RUN_PARAMS_MAX);
    }
    *equals = '\0';
    run->param_names[run->param_count] = text;
    if (sql_is_literal(equals + 1)) {
        run->param_values[run->param_count] = equals + 1;
    } else { /* text stays text */
        err = granary_sql_literal(equals + 1, strlen(equals + 1), &run->param_values[run->param_count]);
    }
    run->param_count += err == GRANARY_OK;
    return err;
}

static granary_err
take_source(void *target, char *text)
{
    struct run *run = target;
    granary_cut_source *source = &run->sources[run->source_count];
    char *equals = strrchr(text, '=');
    int used = 0;

    if (run->source_count == RUN_SOURCES_MAX) {
        return gr_fail(GRANARY_EINVAL, "more than %d sources", RUN_SOURCES_MAX);
    }
    if (equals == NULL || equals == text ||
        sscanf(equals + 1, "%" SCNd64 ":%" SCNd64 "%n", &source->partitions, &source->bytes, &used) != 2 ||
        equals[1 + used] != '\0') {
        return gr_fail(GRANARY_EINVAL, "'%.60s' is not NAME=PARTITIONS:BYTES", text);
    }
    *equals = '\0';
    source->name = text;
    run->source_count++;
    return GRANARY_OK;
}

static bool
is_stdout(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

static granary_err
take_output(void *target, char *text)
{
    struct run *run = target;
    char *equals = strchr(text, '=');

    if (run->source->target != NULL) { /* there is one, so its name goes without saying */
        run->outputs[0].target = run->source->target;
        run->outputs[0].path = text;
        run->output_count = 1;
        return GRANARY_OK;
    }
    if (equals == NULL || equals == text || equals[1] == '\0') {
        return gr_fail(GRANARY_EINVAL, "'%s' is not NAME=FILE", text);
    }
    if (run->output_count == RUN_OUTPUTS_MAX) {
        return gr_fail(GRANARY_EINVAL, "more than %d outputs", RUN_OUTPUTS_MAX);
    }
    *equals = '\0';
    run->outputs[run->output_count].target = text;
    run->outputs[run->output_count].path = equals + 1;
    run->output_count++;
    return GRANARY_OK;
}

granary_err
run_check(struct cli *cli)
{
    struct run *run = cli->self;

    run->explain = run->explain || run->analyze;
    if (run->on_where == NULL && (run->directory != NULL || run->timeline != NULL)) {
        return gr_fail(GRANARY_EINVAL, "--directory and --timeline are for several machines: write --on WHERE, too");
    }
    if (run->on_where != NULL && (run->explain || run->show_graph)) {
        return gr_fail(GRANARY_EINVAL, "--on and --explain, --analyze or --graph: name one of them");
    }
    if (run->csv && run->schema) {
        return gr_fail(GRANARY_EINVAL,
                       "--csv and --schema: one prints the rows, the other their columns: name one of them");
    }
    if (run->stdout_format != NULL && (run->csv || run->schema || cli->json)) {
        return gr_fail(GRANARY_EINVAL, "--format, --csv, --json and --schema: name one of them");
    }
    if (run->csv && cli->json) {
        return gr_fail(GRANARY_EINVAL, "--csv and --json: name one of them");
    }
    if (run->mode != NULL && (run->stdout_format != NULL || run->csv || run->schema || cli->json)) {
        return gr_fail(GRANARY_EINVAL, "--mode, --format, --csv, --json and --schema: name one of them");
    }
    if (run->plot != NULL &&
        (run->mode != NULL || run->stdout_format != NULL || run->csv || run->schema || cli->json)) {
        return gr_fail(GRANARY_EINVAL, "--plot, --mode, --format, --csv, --json and --schema: name one of them");
    }
    output_style.max_rows = run->max_rows >= 0 ? run->max_rows : output_style.max_rows;
    output_style.null_value = run->null_text != NULL ? run->null_text : output_style.null_value;
    run->format = run->schema ? &output_schema : cli->json ? &output_json : run->csv ? &gr_format_csv : &output_table;
    if (run->plot != NULL) {
        run->format = output_plot(run->plot);
    } else if (run->mode != NULL) {
        run->format = output_mode(run->mode);
    } else if (run->format == &output_table && run->source == &sql_source && isatty(STDOUT_FILENO) != 0) {
        run->format = &output_box;
    }
    if (run->stdout_format != NULL) {
        (void)output_format_of(run->stdout_format, &run->format);
        if (!run->format->is_text && isatty(STDOUT_FILENO)) {
            return gr_fail(GRANARY_EINVAL, "--format: stdout is a terminal, and %s is no text: name a file with -o",
                           run->format->what);
        }
    }
    for (size_t i = 0; i < run->output_count; i++) { /* what is printed, whatever else is written */
        if (is_stdout(run->outputs[i].path)) {
            run->outputs[i] = run->outputs[--run->output_count];
            run->format = run->mode == NULL && (run->format == &output_table || run->format == &output_box)
                              ? &gr_format_csv
                              : run->format;
            i--;
        }
    }
    if (run->fragments > 0 && run->on_where == NULL &&
        (run->keep != NULL || run->show_graph || run->analyze || run->output_count > 0 || run->single_file != NULL)) {
        return gr_fail(GRANARY_EINVAL, "--fragments shows a plan and runs nothing: leave out what is for results");
    }
    if (run->fragments == 0 && run->fragment_bytes > 0 && run->on_where == NULL) {
        return gr_fail(GRANARY_EINVAL, "--fragment-bytes: for what? Write --fragments N or --on WHERE, too");
    }
    if (run->source_count > 0 && (run->fragments == 0 || run->on_where != NULL)) {
        return gr_fail(GRANARY_EINVAL, "--fragment-source is told to --fragments N, without --on");
    }
    return run->single_file != NULL && run->output_count > 0
               ? gr_fail(GRANARY_EINVAL, "--arrow, --npy and -o: each writes the result to one file: name one of them")
               : GRANARY_OK;
}

static const struct gr_option run_options[] = {
    {"csv", 0, NULL, "print CSV", GR_OPTION_FLAG(struct run, csv)},
    {"format", 0, "FORMAT",
     "print in this format, the ending of a file's name: csv, csv.gz, ndjson, arrow, parquet, ...",
     GR_OPTION_TAKE(take_format)},
    {"mode", 0, "MODE", OUTPUT_MODE_HELP, GR_OPTION_TAKE(take_mode)},
    {"plot", 0, "KIND", "draw the rows: bar, line or hist. The first column has labels, the others numbers",
     GR_OPTION_CHOICE(struct run, plot, OUTPUT_PLOTS)},
    {"maxrows", 0, "N", "show so many rows of a box, or bars, at most; 0: all; default: 40",
     GR_OPTION_NUMBER(struct run, max_rows, 0, INT32_MAX)},
    {"nullvalue", 0, "TEXT", "show this for null in a box, in Markdown and in lines",
     GR_OPTION_TEXT(struct run, null_text)},
    {"schema", 0, NULL, "print the columns and their dtypes, instead of the rows", GR_OPTION_FLAG(struct run, schema)},
    {"graph", 0, NULL, "show the graph as JSON, and do not run it", GR_OPTION_FLAG(struct run, show_graph)},
    {"optimized", 0, NULL, "with --graph: show it as the optimiser leaves it. Files are looked at for their columns",
     GR_OPTION_FLAG(struct run, optimized)},
    {"analyze", 0, NULL, "run the graph, and show what --explain shows, with time, rows and bytes of each step",
     GR_OPTION_FLAG(struct run, analyze)},
    {"explain", 0, NULL, "show the graph before and after optimisation, its chunks and subtasks",
     GR_OPTION_FLAG(struct run, explain)},
    {"fragments", 0, "N",
     "show how the graph is cut for several machines, sources into N parts, and do not run it: JSON, or with --explain "
     "for people",
     GR_OPTION_NUMBER(struct run, fragments, 1, GRANARY_CUT_PARTITIONS_MAX)},
    {"fragment-bytes", 0, "SIZE", "with --fragments: cut sources from this size on; default: 64MiB",
     GR_OPTION_SIZE(struct run, fragment_bytes, 1)},
    {"fragment-source", 0, "NAME=PARTITIONS:BYTES",
     "with --fragments: the driver of the plan has this table or array in so many partitions",
     GR_OPTION_TAKE(take_source)},
    {"chunk-bytes", 0, "SIZE", "aim at chunks of this size; default: automatic",
     GR_OPTION_SIZE(struct run, chunk_bytes, 1)},
    {"timeout", 0, "DURATION", "fail the graph when it has not ended after this time",
     GR_OPTION_MS_FROM(struct run, timeout_ms, 1)},
    {"priority", 0, "N", "run this graph before those of a lower priority; default: 0",
     GR_OPTION_NUMBER(struct run, priority, -1000000, 1000000)},
    {"keep-going", 0, NULL, "when a subtask fails, still run those that do not need it",
     GR_OPTION_FLAG(struct run, keep_going)},
    {"no-recall", 0, NULL, "compute everything, also what was computed before", GR_OPTION_FLAG(struct run, no_recall)},
    {"replace", 0, NULL, "with --keep: replace the table or graph that has the name now",
     GR_OPTION_FLAG(struct run, replace)},
    {"on", 0, "WHERE", "run in fragments on several machines: " PLACES_HELP, GR_OPTION_TEXT(struct run, on_where)},
    {"timeline", 0, "FILE", "with --on: write which fragment ran where and when, as a Chrome trace",
     GR_OPTION_TEXT(struct run, timeline)},
    {"directory", 0, "DIR", "with --on: where the fragments' results lie; all machines see this directory",
     GR_OPTION_TEXT(struct run, directory)},
    {"executors", 'e', "N", "start N executors in the private instance, when no instance is up",
     GR_OPTION_NUMBER(struct run, private.executors, 1, 1024), .group = 1},
    {"memory", 0, "SIZE", "give the private instance this much memory, when no instance is up",
     GR_OPTION_SIZE(struct run, private.memory, 1), .as_text = true, .group = 1},
    {0}};

/* What both have; each opens what it needs when it knows that. */
const struct access run_access = {.options = run_options};

const struct gr_option run_graph_options[] = {
    {"arrow", 0, "FILE", "write the target as an Arrow file", GR_OPTION_TAKE(take_arrow)},
    {"npy", 0, "FILE", "write the target as an NPY file", GR_OPTION_TAKE(take_npy)},
    {"output", 'o', "NAME=FILE",
     "write target NAME to FILE instead of printing it, in the format that its ending tells",
     GR_OPTION_TAKE(take_output)},
    {"discard", 0, NULL, "delete the results from the store after they are printed",
     GR_OPTION_FLAG(struct run, discard)},
    {"keep", 0, "NAME", "keep the results in the store, as a table or graph of this name",
     GR_OPTION_TEXT(struct run, keep)},
    {0}};

const struct gr_option run_sql_options[] = {
    {"arrow", 0, "FILE", "write the rows as an Arrow file", GR_OPTION_TAKE(take_arrow)},
    {"npy", 0, "FILE", NULL, GR_OPTION_TAKE(take_npy), .hidden = true}, /* rows are no tensor */
    {"output", 'o', "FILE", "write the rows to FILE, in the format that its ending tells, instead of printing them",
     GR_OPTION_TAKE(take_output)},
    {"discard", 0, NULL, "keep nothing in the store; this is the default", GR_OPTION_FLAG(struct run, discard)},
    {"param", 0, "NAME=VALUE",
     "give parameter $NAME this value; $1 and ? are numbers. A literal of SQL is what it says; else it is a text",
     GR_OPTION_TAKE(take_param)},
    {"keep", 0, "NAME", "keep the rows in the store, as a table of this name", GR_OPTION_TEXT(struct run, keep)},
    {0}};
