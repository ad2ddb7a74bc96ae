/* What `granary run` and `granary sql` share: everything from a graph as JSON to its printed targets. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/command/cli.h"

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

#endif
