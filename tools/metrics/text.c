/*
 * The two text formats (https://prometheus.io/docs/specs/om/open_metrics_spec/ and its "exposition formats"). They
 * differ in a counter's name in its HELP and TYPE lines, in the lines with units, and in the end.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "metrics/family.h"

static bool
ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);

    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static const char *
unit_name(enum metrics_unit unit)
{
    static const char *const names[] = {[METRICS_NONE] = "", [METRICS_SECONDS] = "seconds", [METRICS_BYTES] = "bytes"};

    return names[unit];
}

const char *
metrics_name(const struct metrics_family *family, enum metrics_format format, char buffer[METRICS_NAME])
{
    const char *unit = unit_name(family->unit);
    bool has_unit = unit[0] == '\0' || ends_with(family->name, unit);
    const char *end = format == METRICS_PROMETHEUS && family->kind == METRICS_COUNTER ? "_total" : "";

    (void)snprintf(buffer, METRICS_NAME, "granary_%s%s%s%s", family->name, has_unit ? "" : "_", has_unit ? "" : unit,
                   end);
    return buffer;
}

const char *
metrics_kind_name(enum metrics_kind kind)
{
    static const char *const names[] = {
        [METRICS_GAUGE] = "gauge", [METRICS_COUNTER] = "counter", [METRICS_HISTOGRAM] = "histogram"};

    return names[kind];
}

/* ---- labels ---- */

/* A value's characters as they may stand there; what is no UTF-8 becomes U+FFFD, for files may have any bytes. */
static void
add_label(struct gr_buf *out, const char *name, const char *value)
{
    size_t size = strlen(value);

    gr_buf_addf(out, "%s=\"", name);
    for (size_t at = 0; at < size;) {
        uint32_t character;
        size_t length = gr_utf8_decode(value + at, size - at, &character);

        if (length == 0) {
            gr_buf_addf(out, "\xef\xbf\xbd");
            length = 1;
        } else if (value[at] == '\n') {
            gr_buf_addf(out, "\\n");
        } else {
            gr_buf_addf(out, "%s", value[at] == '"' || value[at] == '\\' ? "\\" : "");
            gr_buf_add(out, value + at, length);
        }
        at += length;
    }
    gr_buf_addf(out, "\"");
}

const char *
metrics_labels(enum metrics_of of)
{
    static const char *const labels[METRICS_OF_COUNT] = {
        [METRICS_OF_build] = "version",
        [METRICS_OF_process] = "process",
        [METRICS_OF_part] = "part",
        [METRICS_OF_wait] = "for",
        [METRICS_OF_session] = "session",
        [METRICS_OF_directory] = "level, path",
        [METRICS_OF_executor] = "slot, node, pid",
    };

    return labels[of] != NULL ? labels[of] : "";
}

static void
add_labels(struct gr_buf *out, enum metrics_of of, const void *row)
{
    const struct metrics_executor *executor = row;
    const struct metrics_directory *directory = row;

    switch (of) {
    case METRICS_OF_build:
        add_label(out, "version", granary_version());
        break;
    case METRICS_OF_process:
        add_label(out, "process", ((const struct metrics_process *)row)->name);
        break;
    case METRICS_OF_part:
        add_label(out, "part", ((const struct metrics_part *)row)->name);
        break;
    case METRICS_OF_wait:
        add_label(out, "for", ((const struct metrics_wait *)row)->name);
        break;
    case METRICS_OF_session:
        add_label(out, "session", ((const struct metrics_session *)row)->name);
        break;
    case METRICS_OF_directory:
        add_label(out, "level", directory->level);
        gr_buf_addf(out, ",");
        add_label(out, "path", directory->path);
        break;
    case METRICS_OF_executor:
        gr_buf_addf(out, "slot=\"%" PRId32 "\",node=\"%" PRId32 "\",pid=\"%" PRId64 "\"", executor->slot,
                    executor->node, executor->pid);
        break;
    default:
        break;
    }
}

/* ---- samples ---- */

static const void *
member_of(const struct metrics_family *family, const struct metrics_rows *rows, size_t row)
{
    return (const char *)rows->rows + row * family->row_size + family->offset;
}

static bool
is_told(const struct metrics_family *family, const void *member)
{
    return family->type != METRICS_REAL || !isnan(*(const double *)member);
}

/* A latency's lines. */
static void
add_latency(struct gr_buf *out, const char *name, const struct gr_latency *latency)
{
    uint64_t count = 0;

    for (unsigned bucket = 0; bucket < GR_LATENCY_BUCKETS; bucket++) {
        const uint64_t more = latency->buckets[bucket]; /* of clients, who may write what they like */

        count = count + more < count ? UINT64_MAX : count + more;
        if (bucket + 1 < GR_LATENCY_BUCKETS) {
            gr_buf_addf(out, "%s_bucket{le=\"%.15g\"} %" PRIu64 "\n", name, (double)gr_latency_bound(bucket) / 1e9,
                        count);
        } else {
            gr_buf_addf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, count);
        }
    }
    gr_buf_addf(out, "%s_sum %.15g\n%s_count %" PRIu64 "\n", name, (double)latency->sum_ns / 1e9, name, count);
}

static void
add_sample(struct gr_buf *out, const struct metrics_family *family, const char *name, const void *row,
           const void *member)
{
    if (family->type == METRICS_LATENCY) {
        add_latency(out, name, member);
        return;
    }
    gr_buf_addf(out, "%s", name);
    if (metrics_labels(family->of)[0] != '\0') {
        gr_buf_addf(out, "{");
        add_labels(out, family->of, row);
        gr_buf_addf(out, "}");
    }
    if (family->type == METRICS_WHOLE) {
        gr_buf_addf(out, " %" PRIu64 "\n", *(const uint64_t *)member);
    } else {
        gr_buf_addf(out, " %.15g\n", *(const double *)member);
    }
}

static void
add_head(struct gr_buf *out, const struct metrics_family *family, enum metrics_format format)
{
    char name[METRICS_NAME];

    (void)metrics_name(family, format, name);
    gr_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, family->help, name, metrics_kind_name(family->kind));
    if (format == METRICS_OPENMETRICS && family->unit != METRICS_NONE) {
        gr_buf_addf(out, "# UNIT %s %s\n", name, unit_name(family->unit));
    }
}

void
metrics_add_family(struct gr_buf *out, const struct metrics_family *family, const struct metrics_snapshot *snapshot,
                   enum metrics_format format)
{
    const struct metrics_rows *rows = &snapshot->of[family->of];
    char name[METRICS_NAME]; /* of samples: that of the older format */
    bool begun = false;

    (void)metrics_name(family, METRICS_PROMETHEUS, name);
    for (size_t i = 0; i < rows->count; i++) {
        const void *member = member_of(family, rows, i);

        if (is_told(family, member)) {
            if (!begun) {
                add_head(out, family, format);
                begun = true;
            }
            add_sample(out, family, name, (const char *)rows->rows + i * family->row_size, member);
        }
    }
}
