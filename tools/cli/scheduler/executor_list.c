/* The list of executors: as the scheduler tells, or else as their pages do. */
#include "cli/scheduler/executor_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/process/executor_page.h"
#include "cli/print/listing.h"
#include "cli/scheduler/scheduler.h"

/* ---- pages ---- */

struct page {
    struct gr_executor_state state;
    bool lives;
};

static const char *
page_confined(const void *row, char buffer[SHOW_TEXT])
{
    (void)buffer;
    return gr_confinement_name(((const struct page *)row)->state.confined);
}

static const char *
page_phase(const void *row, char buffer[SHOW_TEXT])
{
    (void)buffer;
    return gr_executor_phase_name(((const struct page *)row)->state.phase);
}

static const char *
page_subtask(const void *row, char buffer[SHOW_TEXT])
{
    uint64_t subtask = ((const struct page *)row)->state.subtask;

    (void)snprintf(buffer, SHOW_TEXT, subtask == 0 ? "-" : "%9" PRIu32 "/%-8" PRIu32, (uint32_t)(subtask >> 32),
                   (uint32_t)subtask);
    return buffer;
}

static const char *
page_since(const void *row, char buffer[SHOW_TEXT])
{
    const struct gr_executor_state *state = &((const struct page *)row)->state;
    double seconds = state->since_ns == 0 ? 0 : (double)(gr_now_ns() - state->since_ns) / 1e9;

    (void)snprintf(buffer, SHOW_TEXT, state->subtask == 0 ? "-" : "%8.1f s", seconds);
    return buffer;
}

static const char *
page_progress(const void *row, char buffer[SHOW_TEXT])
{
    const struct gr_executor_state *state = &((const struct page *)row)->state;

    (void)snprintf(buffer, SHOW_TEXT, state->subtask == 0 ? "-" : "%3.0f%%", state->progress * 100);
    return buffer;
}

static const char *
page_log(const void *row, char buffer[SHOW_TEXT])
{
    const struct gr_executor_state *state = &((const struct page *)row)->state;

    return state->log[0] == '\0' ? "-" : show_text(state->log, buffer);
}

static const struct column page_columns[] = {{"pid", "pid", 8, COLUMN(struct page, state.pid)},
                                             {"lives", "lives", -5, COLUMN(struct page, lives)},
                                             {NULL, "confined", -8, .show = page_confined},
                                             {"node", "node", 4, COLUMN(struct page, state.node)},
                                             {"slot", "slot", 4, COLUMN(struct page, state.slot)},
                                             {"confined", NULL, 0, .show = page_confined},
                                             {"phase", "phase", -5, .show = page_phase},
                                             {NULL, "graph/subtask", 18, .show = page_subtask},
                                             {NULL, "since", 10, .show = page_since},
                                             {NULL, "done", 4, .show = page_progress},
                                             {"subtask", NULL, 0, COLUMN(struct page, state.subtask)},
                                             {"attempt", NULL, 0, COLUMN(struct page, state.attempt)},
                                             {"since_ns", NULL, 0, COLUMN(struct page, state.since_ns)},
                                             {"progress", NULL, 0, COLUMN(struct page, state.progress)},
                                             {"waits_for", NULL, 0, COLUMN(struct page, state.waits_for)},
                                             {"log", NULL, 0, COLUMN(struct page, state.log)},
                                             {"done", "subtasks", 8, COLUMN(struct page, state.done)},
                                             {NULL, "log", 0, .show = page_log},
                                             {0}};

static granary_err
print_pages(const struct cli *cli, const struct gr_instance *instance)
{
    struct gr_executor_state *pages = NULL;
    struct listing listing;
    size_t count = 0;
    granary_err err = gr_executor_pages_read(instance->runtime, &pages, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    listing_begin(&listing, page_columns, cli->json);
    for (size_t i = 0; i < count; i++) {
        struct page page = {pages[i], gr_process_start_time((pid_t)pages[i].pid) == pages[i].start_time};

        listing_row(&listing, &page);
    }
    listing_end(&listing);
    free(pages);
    return GRANARY_OK;
}

/* ---- the list ---- */

/* As the scheduler knows them. */
static int
show_table(struct cli *cli)
{
    int status = table_access.open(cli);

    if (status == 0) {
        status = table_show(cli);
        status = status == GRANARY_OK ? 0 : cli_fail_plain((granary_err)status);
    }
    cli_disconnect(cli);
    return status;
}

int
executor_list(struct cli *cli, bool pages)
{
    struct gr_instance instance;
    const char *trouble;
    granary_err err = gr_instance_resolve(cli->instance, &instance);

    if (err == GRANARY_OK) {
        err = gr_instance_check_own(instance.runtime); /* not that nothing runs there */
    }
    if (err == GRANARY_OK && access(instance.runtime, F_OK) < 0) {
        err = gr_fail(GRANARY_EUNREACHABLE, "instance %s: not running: start it with `granary up`", instance.name);
    }
    if (err != GRANARY_OK) {
        return cli_fail_plain(err);
    }
    trouble = pages ? NULL : scheduler_trouble(&instance);
    if (trouble != NULL) {
        (void)fprintf(stderr, "granary: executors: %s: this is what the executors' pages tell\n", trouble);
    }
    if (pages || trouble != NULL) {
        err = print_pages(cli, &instance);
        return err == GRANARY_OK ? 0 : cli_fail_plain(err);
    }
    return show_table(cli);
}
