/* A metric by its row of metrics.def, and how all its samples are written. */
#ifndef METRICS_FAMILY_H
#define METRICS_FAMILY_H

#include "metrics/metrics.h"
#include "metrics/snapshot.h"

enum metrics_kind { METRICS_GAUGE, METRICS_COUNTER, METRICS_HISTOGRAM };
/* As all the tables call them: counters.def counts times, account.def numbers. */
enum metrics_unit {
    METRICS_NONE,
    METRICS_TIMES = METRICS_NONE,
    METRICS_NUMBER = METRICS_NONE,
    METRICS_SECONDS,
    METRICS_BYTES,
};
enum metrics_type { METRICS_REAL, METRICS_WHOLE, METRICS_LATENCY };

struct metrics_family {
    const char *name; /* without "granary_" and the unit */
    enum metrics_kind kind;
    enum metrics_unit unit;
    const char *help;
    enum metrics_of of;
    enum metrics_type type; /* of the member */
    size_t offset;          /* ... in a row */
    size_t row_size;
};

#define METRICS_NAME 96

/* Its full name, as its TYPE line has it. Returns buffer. */
const char *metrics_name(const struct metrics_family *family, enum metrics_format format, char buffer[METRICS_NAME]);
/* "counter", "gauge", "histogram". */
const char *metrics_kind_name(enum metrics_kind kind);
/* Its labels' names, separated by commas. */
const char *metrics_labels(enum metrics_of of);

/* Its lines; none when there is nothing to tell. */
void metrics_add_family(struct gr_buf *out, const struct metrics_family *family,
                        const struct metrics_snapshot *snapshot, enum metrics_format format);

#endif
