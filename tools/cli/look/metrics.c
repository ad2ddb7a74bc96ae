/* granary metrics: what the instance counts and measures, as text that Prometheus reads. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/command.h"
#include "metrics/metrics.h"

struct metrics {
    enum metrics_format format;
    bool page;
};

static granary_err
take_format(void *target, char *text)
{
    static const char *const names[] = {[METRICS_OPENMETRICS] = "openmetrics", [METRICS_PROMETHEUS] = "prometheus"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) == 0) {
            ((struct metrics *)target)->format = (enum metrics_format)i;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EINVAL, "--format %s: it is openmetrics or prometheus", text);
}

static int
run_metrics(struct cli *cli)
{
    const struct metrics *metrics = cli->self;
    struct gr_buf text = {0};
    granary_err err = GRANARY_OK;
    int status = 0;

    if (metrics->page) {
        metrics_add_page(&text);
        err = gr_buf_ok(&text) ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "docs/metrics.md: out of memory");
    } else {
        err = metrics_add(&text, cli->instance, metrics->format);
    }
    if (err == GRANARY_OK) {
        status = cli_write_file("-", text.bytes, text.size);
    }
    gr_buf_free(&text);
    return err != GRANARY_OK ? err : status;
}

static const struct gr_option metrics_options[] = {
    {"format", 0, "FORMAT",
     "print this format: openmetrics, or prometheus, its older text format; default: openmetrics",
     GR_OPTION_TAKE(take_format)},
    {"markdown", 0, NULL, "print what the metrics mean, as docs/metrics.md", GR_OPTION_FLAG(struct metrics, page)},
    {0}};

const struct command command_metrics = {
    .options = metrics_options, COMMAND_ZERO(struct metrics), .plain = true, .run = run_metrics};
