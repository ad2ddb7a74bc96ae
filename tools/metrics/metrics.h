/*
 * metrics: all that an instance counts and measures, as text that Prometheus and others read. `granary metrics` prints
 * it, and granary-web answers /metrics with it.
 *
 * It is read from shared memory, from pages below the runtime directory, and from /proc: no daemon is asked, so it costs
 * none of them anything, and tells of one that hangs, is stopped or is dead. What such a daemon has left is told, too;
 * granary_up says that it is old. tools/metrics/metrics.def lists the metrics.
 */
#ifndef METRICS_METRICS_H
#define METRICS_METRICS_H

#include "base/text/buf.h"
#include "granary/types.h"

enum metrics_format {
    METRICS_OPENMETRICS, /* with units, and "# EOF" at its end */
    METRICS_PROMETHEUS,  /* the older text format, which `promtool check metrics` reads */
};

/* What HTTP calls a format: its Content-Type. */
const char *metrics_content_type(enum metrics_format format);

/* The format that a request asks for by its Accept header, which may be NULL. */
enum metrics_format metrics_format_of(const char *accept);

/*
 * Append the metrics of an instance. One that is not there is told as down.
 *
 * instance  name or runtime directory; NULL: $GRANARY_INSTANCE, else "default"
 * Errors    EPERM it is another user's · EINVAL no name of an instance · ENOMEM. out is then as it was
 */
granary_err metrics_add(struct gr_buf *out, const char *instance, enum metrics_format format);

/* Append docs/metrics.md. */
void metrics_add_page(struct gr_buf *out);

#endif
