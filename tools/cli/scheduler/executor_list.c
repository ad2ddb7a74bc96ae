/* The list of executors: as the scheduler tells, or else as their pages do. */
#include "cli/scheduler/executor_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/executor_page.h"
#include "base/fd.h"
#include "cli/command/cli.h"
#include "cli/print/json.h"
#include "cli/print/show.h"
#include "cli/scheduler/scheduler.h"

/* ---- pages ---- */

static void
print_page_json(struct json *json, const struct gr_executor_state *page, bool lives)
{
    json_open(json, NULL, '{');
    json_signed(json, "pid", page->pid);
    json_bool(json, "lives", lives);
    json_signed(json, "node", page->node);
    json_signed(json, "slot", page->slot);
    json_text(json, "confined", gr_confinement_name(page->confined));
    json_text(json, "phase", gr_executor_phase_name(page->phase));
    json_unsigned(json, "subtask", page->subtask);
    json_unsigned(json, "attempt", page->attempt);
    json_signed(json, "since_ns", page->since_ns);
    json_real(json, "progress", page->progress);
    json_id(json, "waits_for", page->waits_for);
    json_text(json, "log", page->log);
    json_unsigned(json, "done", page->done);
    json_close(json);
}

static void
print_page(const struct gr_executor_state *page, bool lives)
{
    double seconds = page->since_ns == 0 ? 0 : (double)(gr_now_ns() - page->since_ns) / 1e9;
    char text[SHOW_TEXT];

    (void)printf("%8" PRId64 "  %-5s  %-8s  %4d  %4d  %-5s  ", page->pid, lives ? "yes" : "no",
                 gr_confinement_name(page->confined), page->node, page->slot, gr_executor_phase_name(page->phase));
    if (page->subtask != 0) {
        (void)printf("%9" PRIu32 "/%-8" PRIu32 "  %8.1f s  %3.0f%%  ", (uint32_t)(page->subtask >> 32),
                     (uint32_t)page->subtask, seconds, page->progress * 100);
    } else {
        (void)printf("%18s  %10s  %4s  ", "-", "-", "-");
    }
    (void)printf("%8" PRIu64 "  %s\n", page->done, page->log[0] == '\0' ? "-" : show_text(page->log, text));
}

static int
print_pages(const struct cli *cli, const struct gr_instance *instance)
{
    struct gr_executor_state *pages = NULL;
    struct json json = {0};
    size_t count = 0;
    granary_err err = gr_executor_pages_read(instance->runtime, &pages, &count);

    if (err != GRANARY_OK) {
        return cli_fail_plain(err);
    }
    if (cli->json) {
        json_open(&json, NULL, '[');
    } else {
        (void)printf("%8s  %-5s  %-8s  %4s  %4s  %-5s  %18s  %10s  %4s  %8s  %s\n", "pid", "lives", "confined", "node",
                     "slot", "phase", "graph/subtask", "since", "done", "subtasks", "log");
    }
    for (size_t i = 0; i < count; i++) {
        bool lives = gr_process_start_time((pid_t)pages[i].pid) == pages[i].start_time;

        if (cli->json) {
            print_page_json(&json, &pages[i], lives);
        } else {
            print_page(&pages[i], lives);
        }
    }
    if (cli->json) {
        json_close(&json);
    }
    free(pages);
    return 0;
}

/* ---- the list ---- */

int
executor_list(struct table_view *view, bool pages)
{
    struct gr_instance instance;
    const char *trouble;
    granary_err err = gr_instance_resolve(view->cli->instance, &instance);

    view->subject = "executors";
    view->shown =
        "number,pid,state,mode,confined,node,slot,phase,graph,subtask,since_ms,progress,queued,done,failures,rss_bytes";
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
    return pages || trouble != NULL ? print_pages(view->cli, &instance) : table_show(view);
}
