/*
 * granary: a graph for several machines (libgranary), cut into fragments. Anything can run these that can run a command
 * on each machine: docs/fragments.md describes the plan, and what a driver does with it.
 */
#ifndef GRANARY_CUT_H
#define GRANARY_CUT_H

#include "granary/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GRANARY_CUT_PARTITIONS_MAX 4096

/* A size that was found. */
typedef struct granary_cut_size {
    const char *digest; /* the stage's */
    int64_t bytes;      /* of the results of all its fragments */
} granary_cut_size;

/* A source that the driver has by itself, such as the partitions of a collection of Dask. */
typedef struct granary_cut_source {
    const char *name;   /* that a `table` has as its name, or an `array` as its only id */
    int64_t bytes;      /* of all of it */
    int64_t partitions; /* in which it lies. 1: it is not cut, and read as a whole wherever it is needed */
} granary_cut_source;

typedef struct granary_cut_options {
    int64_t partitions;            /* into how many parts large sources are cut: 1 to GRANARY_CUT_PARTITIONS_MAX */
    int64_t smallest_bytes;        /* sources below are read as a whole wherever they are needed; 0: 64 MiB */
    const granary_cut_size *sizes; /* of stages that have run; NULL: none */
    size_t size_count;
    uint64_t flags;                    /* GRANARY_CUT_..., or 0 */
    const granary_cut_source *sources; /* NULL: none */
    size_t source_count;
} granary_cut_options;

#define GRANARY_CUT_TEXT UINT64_C(1) /* the plan for people: a line a stage, and what was gathered and why */

/*
 * Cut a graph into fragments, whose results together are those of the graph, byte for byte. Nothing of it is run. A
 * small graph asks the client's instance for the columns of files and tables, and has ended before this returns.
 *
 * graph     of tileable operators; it stays as it is. Paths are relative to the working directory, and absolute in the
 *           plan
 * options   not NULL
 * ret_json  the plan, NUL-terminated; to be freed with free()
 * Errors    EINVAL options, a graph of chunk operators, or one that is wrong: the message names the node · ENOENT a
 *           file, table or column · ETYPE · EIO, EPERM of a file · EUNREACHABLE · ENOMEM
 * Threads   any number at a time
 */
GRANARY_API granary_err granary_graph_cut(granary_client *client, const granary_graph *graph,
                                          const granary_cut_options *options, char **ret_json);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_1(granary_err, granary_graph_cut,
                (granary_client * client, const granary_graph *graph, const granary_cut_options *options,
                 char **ret_json),
                (client, graph, options, ret_json), granary_cut_options);

#ifdef __cplusplus
}
#endif
#endif
