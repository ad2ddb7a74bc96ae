/* Which fragment ran where and when, as a Chrome trace (chrome://tracing, ui.perfetto.dev): a process is a machine. */
#ifndef CLI_CLUSTER_TRACE_H
#define CLI_CLUSTER_TRACE_H

#include "base/text/buf.h"
#include "cli/cluster/places.h"

struct trace {
    const char *path; /* NULL: none is wanted, and all of these do nothing */
    int64_t began_ns; /* time 0 */
    struct gr_buf events;
};

void trace_begin(struct trace *trace, const char *path);

/* A run that ends now. place: as of places_fragment(). outcome: "done", "failed", "overtaken" */
void trace_add(struct trace *trace, const char *stage, uint32_t partition, size_t place, int64_t from_ns,
               uint64_t bytes, const char *outcome);

/* Write the file. Errors: naming it: EFULL, EPERM ... */
granary_err trace_end(struct trace *trace, const struct places *places);

#endif
