/* What `granary run` and `granary sql` share: everything from a graph as JSON to its printed targets. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/command/cli.h"
#include "cli/command/command.h"
#include "cli/instance/supervisor/supervisor.h"
#include "cli/work/run/discard.h"
#include "data/file/format.h"
#include "granary/cut.h"

struct on; /* cli/cluster/on.h */

/* Where the graph comes from. */
struct run_source {
    const char *what;   /* the argument: "graph" */
    const char *how;    /* what to do when it is missing */
    const char *label;  /* in messages; NULL: the argument */
    const char *target; /* the graph's only one; NULL: -o names targets */
    bool needs_client;
    bool keeps; /* results stay in an instance that is up without being asked for */
    /* The graph as JSON, the caller's. client: NULL unless it needs one */
    granary_err (*make)(granary_client *client, const char *argument, char **ret_text, size_t *ret_size);
    /* After a failure: say in the source's words what the thread's message says of the graph. Returns err. Or NULL. */
    granary_err (*explain)(granary_client *client, granary_err err, const char *argument);
    /* Whether the argument makes no graph, but is to be done, in an instance that is up. Or NULL */
    bool (*acts)(const char *argument);
    /* label: whoever knows it can take back what is left by one that is interrupted: the source's forget() */
    granary_err (*act)(struct cli *cli, const char *argument, int timeout_ms, const char *label);
    int (*forget)(struct cli *cli, const char *label);
};

extern const struct run_source sql_source;

#define RUN_OUTPUTS_MAX 64
#define RUN_PARAMS_MAX  256
#define RUN_SIZES_MAX   15 /* of times that a graph is cut again */
#define RUN_SOURCES_MAX 64

/* A graph or a statement, with its options. */
struct run {
    struct cli *cli;
    const struct run_source *source;
    const char *graph;
    const char *label; /* of the graph, in messages */
    bool show_graph;
    bool optimized;                 /* ... as rules leave it */
    const char *plot;               /* one of OUTPUT_PLOTS */
    const char *stdout_format;      /* --format: the ending of a file's name */
    bool csv, schema;               /* as asked for: `format` says what comes of it */
    const struct gr_format *format; /* of what goes to stdout */
    bool acts;                      /* the source's argument is to be done */
    bool spooled;                   /* a pipe that the graph names was read */
    bool explain;
    bool analyze; /* explain, and what it took */
    bool discard;
    const char *keep; /* the graph's key; NULL: none was given */
    bool replace;     /* whatever has that key */
    int64_t chunk_bytes;
    int64_t fragments;                           /* into how many parts it is cut, instead of being run; 0: it is run */
    int64_t fragment_bytes;                      /* of a source that is cut, at least; 0: as the library has it */
    granary_cut_source sources[RUN_SOURCES_MAX]; /* that the driver of the plan has */
    size_t source_count;
    int timeout_ms;
    int priority;
    bool no_recall;
    bool keep_going;
    const char *single_file; /* --arrow, --npy: of the only target */
    const struct gr_format *single_format;
    struct {
        const char *target;
        const char *path;
    } outputs[RUN_OUTPUTS_MAX];
    size_t output_count;
    struct supervisor_options private; /* when none is up */
    pid_t private_pid;
    const char *on_where;  /* --on: other machines, or instances, that do the work; NULL: none */
    const char *directory; /* which all of them see */
    const char *timeline;  /* a file that tells what ran where and when */
    struct on *on;
    granary_cut_size sizes[RUN_SIZES_MAX]; /* that were found while fragments ran */
    char digests[RUN_SIZES_MAX][33];       /* of sizes */
    size_t size_count;
    struct discard remains; /* of a graph that is to leave nothing in an instance of others */
    /* Of SQL alone. */
    const char *mode;      /* --mode, or NULL */
    const char *null_text; /* --nullvalue, or NULL */
    int64_t max_rows;      /* --maxrows; -1: as output_style has it */
    bool pages;            /* what is larger than the terminal goes through a pager */
    const char *param_names[RUN_PARAMS_MAX];
    char *param_values[RUN_PARAMS_MAX]; /* literals */
    size_t param_count;
    int lines, columns; /* in front of the statement, in the text that it is of */
};

/* What `granary sql` is, but for what runs: the options, and what they are before they are read (run_options.c). */
extern const struct access run_access;
extern const struct gr_option run_sql_options[];
extern const struct gr_option run_graph_options[]; /* of `granary run` */
#define RUN_SQL_SELF COMMAND_SELF(struct run, .source = &sql_source, .remains = {.fd = -1}, .max_rows = -1)
granary_err run_check(struct cli *cli);

/* Whether nothing is left when the command ends. */
bool run_discards(const struct run *run);

/* Run the only argument, a graph or the text of one statement. Once in a process. */
int run_source(struct cli *cli);

/*
 * An instance for this process and what it starts, when none is up: cli->instance names it then, and it ends with the process. It is
 * for several statements, each in a process of its own. To be called before there are threads.
 */
granary_err run_begin_private(struct cli *cli);
void run_end_private(struct cli *cli);

#endif
