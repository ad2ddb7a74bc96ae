/* Events are text as they come. A subtask's slice holds those of its phases, as in `granary timeline`. */
#include "cli/cluster/look/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "data/print/print.h"

#define FRAGMENTS      0 /* the thread that has them */
#define EXECUTORS_MAX  4096
#define WORDS          "run %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNu64 " %31s %127s %127[^\n]"
#define WORDS_COUNT    10
#define LINE_MAX_SIZE  512
#define PHASE_LEAST_NS 1000

void
trace_begin(struct trace *trace, const char *path)
{
    trace->path = path;
    trace->began_ns = gr_now_ns();
}

static void
add_text(struct gr_buf *out, const char *text)
{
    gr_print_json_string(text, strlen(text), out);
}

/* ---- names ---- */

static void
name_thread(struct trace *trace, size_t machine, int thread, const char *name)
{
    gr_buf_addf(&trace->events,
                "{\"ph\": \"M\", \"pid\": %zu, \"tid\": %d, \"name\": \"thread_name\", \"args\": {\"name\": ", machine,
                thread);
    add_text(&trace->events, name);
    gr_buf_addf(&trace->events, "}},\n");
}

void
trace_machine(struct trace *trace, size_t machine, const char *name, const struct trace_clock *clock)
{
    if (trace->path == NULL) {
        return;
    }
    gr_buf_addf(&trace->events,
                "{\"ph\": \"M\", \"pid\": %zu, \"name\": \"process_name\", \"args\": {\"name\": ", machine);
    add_text(&trace->events, name);
    gr_buf_addf(&trace->events, "}},\n");
    name_thread(trace, machine, FRAGMENTS, "fragments");
    if (clock != NULL && clock->known) {
        gr_buf_addf(&trace->events,
                    "{\"ph\": \"M\", \"pid\": %zu, \"name\": \"process_labels\", \"args\": {\"labels\": \"its clock is "
                    "%.6f s ahead of the driver's, within %.6f s\"}},\n",
                    machine, (double)clock->ahead_ns / 1e9, (double)clock->within_ns / 1e9);
    } else if (clock != NULL) {
        gr_buf_addf(&trace->events,
                    "{\"ph\": \"M\", \"pid\": %zu, \"name\": \"process_labels\", \"args\": {\"labels\": \"its clock is "
                    "not known: no subtasks\"}},\n",
                    machine);
    }
}

/* ---- slices ---- */

/* A slice, but for its arguments: those follow, and "},\n". */
static void
add_slice(struct trace *trace, size_t machine, int thread, const char *kind, const char *name, int64_t from_ns,
          int64_t to_ns)
{
    gr_buf_addf(&trace->events,
                "{\"ph\": \"X\", \"pid\": %zu, \"tid\": %d, \"cat\": \"%s\", \"ts\": %.3f, \"dur\": %.3f, \"name\": ",
                machine, thread, kind, (double)(from_ns - trace->began_ns) / 1e3, (double)(to_ns - from_ns) / 1e3);
    add_text(&trace->events, name);
}

void
trace_fragment(struct trace *trace, size_t machine, const char *stage, uint32_t partition, int64_t from_ns,
               int64_t to_ns, uint64_t bytes, const char *outcome)
{
    if (trace->path == NULL) {
        return;
    }
    add_slice(trace, machine, FRAGMENTS, "fragment", stage, from_ns, to_ns);
    gr_buf_addf(&trace->events, ", \"args\": {\"partition\": %u, \"bytes\": %" PRIu64 ", \"outcome\": ", partition,
                bytes);
    add_text(&trace->events, outcome);
    gr_buf_addf(&trace->events, "}},\n");
}

struct subtask {
    int executor;
    int64_t started_ns, leased_ns, stores_ns, ended_ns;
    uint64_t in_bytes, out_bytes;
    char outcome[32], ops[128], node[128];
};

/* Lines come from other machines: what is no subtask is none. */
static bool
read_run(const char *line, struct subtask *ret)
{
    return sscanf(line, WORDS, &ret->executor, &ret->started_ns, &ret->leased_ns, &ret->stores_ns, &ret->ended_ns,
                  &ret->in_bytes, &ret->out_bytes, ret->outcome, ret->ops, ret->node) == WORDS_COUNT &&
           ret->executor >= 0 && ret->executor < EXECUTORS_MAX && ret->started_ns > 0 &&
           ret->started_ns <= ret->leased_ns && ret->leased_ns <= ret->stores_ns && ret->stores_ns <= ret->ended_ns;
}

static void
add_phase(struct trace *trace, size_t machine, int thread, const char *name, int64_t from_ns, int64_t to_ns)
{
    if (to_ns - from_ns >= PHASE_LEAST_NS) {
        add_slice(trace, machine, thread, "phase", name, from_ns, to_ns);
        gr_buf_addf(&trace->events, "},\n");
    }
}

static void
add_subtask(struct trace *trace, size_t machine, int64_t ahead_ns, const struct subtask *subtask)
{
    int thread = FRAGMENTS + 1 + subtask->executor;

    add_slice(trace, machine, thread, "subtask", subtask->node, subtask->started_ns - ahead_ns,
              subtask->ended_ns - ahead_ns);
    gr_buf_addf(&trace->events,
                ", \"args\": {\"in_bytes\": %" PRIu64 ", \"out_bytes\": %" PRIu64 ", \"outcome\": ", subtask->in_bytes,
                subtask->out_bytes);
    add_text(&trace->events, subtask->outcome);
    gr_buf_addf(&trace->events, ", \"ops\": ");
    add_text(&trace->events, subtask->ops);
    gr_buf_addf(&trace->events, "}},\n");
    add_phase(trace, machine, thread, "lease", subtask->started_ns - ahead_ns, subtask->leased_ns - ahead_ns);
    add_phase(trace, machine, thread, "run", subtask->leased_ns - ahead_ns, subtask->stores_ns - ahead_ns);
    add_phase(trace, machine, thread, "store", subtask->stores_ns - ahead_ns, subtask->ended_ns - ahead_ns);
}

void
trace_runs(struct trace *trace, size_t machine, const struct trace_clock *clock, const char *said)
{
    bool named[EXECUTORS_MAX] = {false};

    if (trace->path == NULL || (clock != NULL && !clock->known)) {
        return;
    }
    for (const char *at = said; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        char line[LINE_MAX_SIZE];
        struct subtask subtask;

        (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        if (!read_run(line, &subtask)) {
            continue;
        }
        if (!named[subtask.executor]) {
            named[subtask.executor] = true;
            (void)snprintf(line, sizeof line, "executor %d", subtask.executor);
            name_thread(trace, machine, FRAGMENTS + 1 + subtask.executor, line);
        }
        add_subtask(trace, machine, clock == NULL ? 0 : clock->ahead_ns, &subtask);
    }
}

/* ---- the file ---- */

static granary_err
write_file(const char *path, const struct gr_buf *text)
{
    FILE *file = fopen(path, "we");
    granary_err err = GRANARY_OK;

    if (file == NULL) {
        return gr_fail_errno("--timeline %s", path);
    }
    if (fwrite(text->bytes, 1, text->size, file) != text->size) {
        err = gr_fail_errno("--timeline %s", path);
    }
    if (fclose(file) != 0 && err == GRANARY_OK) {
        err = gr_fail_errno("--timeline %s", path);
    }
    return err;
}

granary_err
trace_end(struct trace *trace)
{
    struct gr_buf out = {0};
    granary_err err = GRANARY_OK;

    if (trace->path != NULL) {
        gr_buf_addf(&out, "[\n");
        if (trace->events.size > 0) { /* without the last comma */
            gr_buf_add(&out, trace->events.bytes, trace->events.size - strlen(",\n"));
        }
        gr_buf_addf(&out, "\n]\n");
        err = gr_buf_ok(&out) && gr_buf_ok(&trace->events) ? write_file(trace->path, &out) : gr_no_memory(trace->path);
    }
    gr_buf_free(&out);
    gr_buf_free(&trace->events);
    return err;
}

/* ---- on the machine ---- */

static void
print_run(const granary_table *table, size_t row)
{
    int64_t started_ns = granary_table_int(table, row, "started_ns");
    int64_t ended_ns = granary_table_int(table, row, "ended_ns");
    int64_t leased_ns = started_ns + granary_table_int(table, row, "lease_ns");
    int64_t stores_ns = ended_ns - granary_table_int(table, row, "store_ns");
    const char *error = granary_table_text(table, row, "error");
    const char *ops = granary_table_text(table, row, "ops");
    const char *node = granary_table_text(table, row, "node");

    leased_ns = leased_ns < ended_ns ? leased_ns : ended_ns;
    stores_ns = stores_ns > leased_ns ? stores_ns : leased_ns;
    (void)printf("run %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                 " %s %.100s %.100s\n",
                 granary_table_int(table, row, "executor"), started_ns, leased_ns, stores_ns, ended_ns,
                 granary_table_int(table, row, "in_bytes"), granary_table_int(table, row, "out_bytes"),
                 error[0] == '\0' ? "done" : error, ops[0] == '\0' ? "-" : ops, node[0] == '\0' ? "-" : node);
}

granary_err
trace_print_runs(granary_client *client, const char *graph)
{
    granary_query query = {.subject = "runs", .limit = 10000, .keys = &graph, .key_count = 1};
    granary_err err;

    do {
        granary_table *table = NULL;

        err = granary_info(client, &query, &table);
        for (size_t i = 0; i < granary_table_rows(table); i++) {
            if (granary_table_int(table, i, "started_ns") > 0) { /* it did begin */
                print_run(table, i);
            }
        }
        query.cursor = granary_table_cursor(table);
        granary_table_free(table);
    } while (err == GRANARY_OK && query.cursor != 0);
    return err;
}
