/*
 * Executors are read from their pages, which needs no scheduler; graphs are asked for, when there is one that answers.
 */
#include "cli/look/top_work.h"
#include "cli/print/listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/process/executor_page.h"
#include "cli/scheduler/scheduler.h"

#define SHOWN 10 /* of each */

void
work_fini(struct work *work)
{
    granary_disconnect(work->client);
    work->client = NULL;
}

/* Running graphs, or NULL when nobody can tell: nobody who does not answer is asked. */
static granary_table *
graphs_of(struct work *work, const struct look *look)
{
    static const char *const fields[] = {"key",  "session", "state", "progress", "subtasks",
                                         "done", "running", "ready", "failed",   "retries"};
    granary_connect_options options = {.instance = look->cli->instance, .session = look->cli->session, .tag = "top"};
    const granary_query query = {
        .subject = "graphs", .fields = fields, .field_count = sizeof fields / sizeof fields[0], .limit = 10000};
    granary_table *table = NULL;
    struct gr_instance instance;

    if (look->copy != NULL || look->info.life != GRANARY_STORE_SERVING ||
        gr_instance_resolve(look->cli->instance, &instance) != GRANARY_OK || scheduler_trouble(&instance) != NULL ||
        (work->client == NULL && granary_connect(&options, &work->client) != GRANARY_OK)) {
        return NULL;
    }
    if (granary_info(work->client, &query, &table) != GRANARY_OK) {
        work_fini(work);
        return NULL;
    }
    return table;
}

static struct gr_executor_state *
pages_of(const struct look *look, size_t *ret_count)
{
    struct gr_executor_state *pages = NULL;
    struct gr_instance instance;

    *ret_count = 0;
    if (look->copy != NULL || gr_instance_resolve(look->cli->instance, &instance) != GRANARY_OK ||
        gr_executor_pages_read(instance.runtime, &pages, ret_count) != GRANARY_OK) {
        return NULL;
    }
    return pages;
}

static bool
lives(const struct gr_executor_state *page)
{
    return gr_process_start_time((pid_t)page->pid) == page->start_time;
}

static bool
is_running(const granary_table *table, size_t row)
{
    return strcmp(granary_table_text(table, row, "state"), "running") == 0;
}

/* ---- for humans ---- */

static void
print_executors(const struct gr_executor_state *pages, size_t count)
{
    size_t alive = 0;
    size_t busy = 0;

    for (size_t i = 0; i < count; i++) {
        alive += lives(&pages[i]);
        busy += lives(&pages[i]) && pages[i].subtask != 0;
    }
    (void)printf("\n%zu executor%s, %zu at work\n", alive, alive == 1 ? "" : "s", busy);
    for (size_t i = 0, shown = 0; i < count && shown < SHOWN; i++) {
        const struct gr_executor_state *page = &pages[i];

        if (!lives(page) || page->subtask == 0) {
            continue;
        }
        (void)printf("%8" PRId64 "  node %d  slot %3d  %-5s  %6" PRIu32 "/%-8" PRIu32 "  %8.1f s", page->pid,
                     page->node, page->slot, gr_executor_phase_name(page->phase), (uint32_t)(page->subtask >> 32),
                     (uint32_t)page->subtask, (double)(gr_now_ns() - page->since_ns) / 1e9);
        if (page->progress > 0) {
            (void)printf("  %3.0f%%", page->progress * 100);
        }
        (void)printf("%s\n", page->waits_since_ns != 0 ? "  waits for an object" : "");
        shown++;
    }
}

static void
print_graphs(const granary_table *table)
{
    size_t rows = granary_table_rows(table);
    size_t running = 0;
    char text[SHOW_TEXT];

    for (size_t row = 0; row < rows; row++) {
        running += is_running(table, row);
    }
    (void)printf("\n%zu graph%s run%s, %zu ended\n", running, running == 1 ? "" : "s", running == 1 ? "s" : "",
                 rows - running);
    for (size_t row = 0, shown = 0; row < rows && shown < SHOWN; row++) {
        if (is_running(table, row)) {
            (void)printf("%-32s  %3.0f%%  %" PRId64 " of %" PRId64 " subtasks, %" PRId64 " run, %" PRId64 " ready\n",
                         show_text(granary_table_text(table, row, "key"), text),
                         granary_table_real(table, row, "progress") * 100, granary_table_int(table, row, "done"),
                         granary_table_int(table, row, "subtasks"), granary_table_int(table, row, "running"),
                         granary_table_int(table, row, "ready"));
            shown++;
        }
    }
}

void
work_print(struct work *work, const struct look *look)
{
    granary_table *graphs = graphs_of(work, look);
    size_t count;
    struct gr_executor_state *pages = pages_of(look, &count);

    if (pages != NULL) {
        print_executors(pages, count);
    }
    if (graphs != NULL) {
        print_graphs(graphs);
    }
    granary_table_free(graphs);
    free(pages);
}

/* ---- as JSON ---- */

static const char *
executor_phase(const void *row, char buffer[SHOW_TEXT])
{
    (void)buffer;
    return gr_executor_phase_name(((const struct gr_executor_state *)row)->phase);
}

static void
write_life(const void *row, struct json *json)
{
    json_bool(json, "lives", lives(row));
}

static const struct column executor_columns[] = {{"pid", NULL, 0, COLUMN(struct gr_executor_state, pid)},
                                                 {"lives", NULL, 0, .write = write_life},
                                                 {"phase", NULL, 0, .show = executor_phase},
                                                 {"subtask", NULL, 0, COLUMN(struct gr_executor_state, subtask)},
                                                 {"since_ns", NULL, 0, COLUMN(struct gr_executor_state, since_ns)},
                                                 {"progress", NULL, 0, COLUMN(struct gr_executor_state, progress)},
                                                 {"done", NULL, 0, COLUMN(struct gr_executor_state, done)},
                                                 {0}};

void
work_print_json(struct work *work, const struct look *look, struct json *json)
{
    static const char *const counts[] = {"subtasks", "done", "running", "ready"};
    granary_table *graphs = graphs_of(work, look);
    size_t count;
    struct gr_executor_state *pages = pages_of(look, &count);

    listing_array(json, "executors", executor_columns, pages, count, sizeof *pages);
    json_open(json, "graphs", '[');
    for (size_t row = 0; row < granary_table_rows(graphs); row++) {
        if (!is_running(graphs, row)) {
            continue;
        }
        json_open(json, NULL, '{');
        json_text(json, "key", granary_table_text(graphs, row, "key"));
        json_float(json, "progress", granary_table_real(graphs, row, "progress"));
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            json_signed(json, counts[i], granary_table_int(graphs, row, counts[i]));
        }
        json_close(json);
    }
    json_close(json);
    granary_table_free(graphs);
    free(pages);
}
