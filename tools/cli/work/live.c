/* granary live: results of a SELECT, again and again as its tables grow. */
#include "granary/live.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/command/command.h"
#include "cli/print/output.h"
#include "cli/work/run/discard.h"
#include "live/forget.h"

struct live {
    bool csv;
    long count; /* 0: until the tables are sealed */
    int every_ms;
    int timeout_ms;
    struct discard remains;
    bool printed_names; /* CSV: of rows that are added the first ones have */
};

/* CSV without its first line. */
static const char *
without_names(const char *text, size_t *size)
{
    const char *end = memchr(text, '\n', *size);

    if (end == NULL) {
        return text;
    }
    *size -= (size_t)(end + 1 - text);
    return end + 1;
}

static int
print_step(struct cli *cli, const granary_live_step *step)
{
    struct live *live = cli->self;
    const struct gr_format *format = cli->json ? &output_json : live->csv ? &gr_format_csv : &output_table;
    struct gr_buf out = {0};
    granary_err err;

    if (cli->json) {
        gr_buf_addf(&out,
                    "{\"time\": %" PRId64 ", \"rows_read\": %" PRIu64 ", \"added\": %s, \"anew\": %s, \"result\": ",
                    step->time, step->rows_read, step->added ? "true" : "false", step->anew ? "true" : "false");
    }
    err = output_result(cli->client, step->key, GRANARY_SQL_TARGET, format, &out);
    if (err == GRANARY_OK) {
        size_t size = out.size;
        const char *text = out.bytes;

        if (cli->json) {
            gr_buf_addf(&out, "}");
            text = out.bytes;
            size = out.size;
            for (size_t i = 0; i < size; i++) { /* a result a line: in JSON these are blanks */
                out.bytes[i] = (char)(out.bytes[i] == '\n' ? ' ' : out.bytes[i]);
            }
        } else if (live->csv && step->added && live->printed_names) {
            text = without_names(text, &size);
        }
        live->printed_names = true;
        (void)fwrite(text, 1, size, stdout);
        if (cli->json) {
            (void)fputc('\n', stdout);
        }
        (void)fflush(stdout); /* who reads a pipe wants to know now */
    }
    gr_buf_free(&out);
    return err;
}

/* Results come no more often than that. */
static void
pause_until(int64_t until_ns)
{
    const struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};

    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static granary_err
follow(struct cli *cli, const char *label)
{
    const struct live *live = cli->self;
    const char *sql = cli->arguments[0];
    granary_live *query = NULL;
    granary_live_step step;
    granary_err err = gr_live_open(cli->client, sql, strlen(sql), label, &query);

    for (long n = 0; err == GRANARY_OK && (live->count == 0 || n < live->count) && !ferror(stdout); n++) {
        const int64_t began_ns = gr_now_ns();

        err = granary_live_next(query, live->timeout_ms, &step);
        err = err == GRANARY_OK ? print_step(cli, &step) : err;
        if (err == GRANARY_OK && n + 1 != live->count) {
            const bool gives_up = live->timeout_ms >= 0 && live->timeout_ms < live->every_ms;

            pause_until(began_ns + (int64_t)(gives_up ? live->timeout_ms : live->every_ms) * 1000000);
        }
    }
    granary_live_close(query);
    return err == GRANARY_ESEALED ? GRANARY_OK : err;
}

static int
forget(struct cli *cli, const char *label)
{
    granary_err err = gr_live_forget(cli->client, label);

    return err == GRANARY_OK ? 0 : cli_fail(err, "%s", label);
}

/* Ctrl-C is how it ends: nothing of it stays. */
static int
run_live(struct cli *cli)
{
    struct live *live = cli->self;
    char label[GRANARY_ID_TEXT + 1];
    granary_err err = GRANARY_OK;
    int status;

    granary_id_format(granary_id_random(), label);
    discard_begin(cli,
                  &(struct discard_options){.what = cli->name,
                                            .forget = forget,
                                            .outcome = "its last result is deleted",
                                            .unsure = "its last result may stay: `granary graphs` tells"},
                  &live->remains);
    status = cli_connect(cli);
    if (status == 0) {
        discard_submitted(&live->remains, label); /* before there is anything */
        err = follow(cli, label);
    }
    cli_disconnect(cli);
    discard_end(&live->remains);
    return err != GRANARY_OK ? (int)err : status;
}

static const struct access live_access = {.options = NULL};

static const struct gr_option live_options[] = {
    {"csv", 0, NULL, "print CSV", GR_OPTION_FLAG(struct live, csv)},
    {"count", 'n', "N", "so many results; default: until the tables are sealed",
     GR_OPTION_NUMBER(struct live, count, 0, LONG_MAX)},
    {"every", 0, "DURATION", "no more often than this; default: 100ms", GR_OPTION_MS_FROM(struct live, every_ms, 0)},
    {"timeout", 0, "DURATION", "give up when nothing is written for so long; default: never",
     GR_OPTION_MS(struct live, timeout_ms)},
    {0}};

const struct command command_live = {
    .options = live_options,

    .access = &live_access,
    COMMAND_SELF(struct live, .remains = {.fd = -1}, .every_ms = 100, .timeout_ms = GRANARY_FOREVER),
    .run = run_live};
