/* Events are text as they come; the names of the machines follow at the end. Times are microseconds. */
#include "cli/cluster/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "data/print.h"

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

void
trace_add(struct trace *trace, const char *stage, uint32_t partition, size_t place, int64_t from_ns, uint64_t bytes,
          const char *outcome)
{
    int64_t since_ns = from_ns - trace->began_ns;
    int64_t took_ns = gr_now_ns() - from_ns;

    if (trace->path == NULL) {
        return;
    }
    gr_buf_addf(&trace->events,
                "{\"ph\": \"X\", \"pid\": %zu, \"tid\": 1, \"ts\": %.3f, \"dur\": %.3f, \"name\": ", place + 1,
                (double)since_ns / 1e3, (double)took_ns / 1e3);
    add_text(&trace->events, stage);
    gr_buf_addf(&trace->events, ", \"args\": {\"partition\": %u, \"bytes\": %" PRIu64 ", \"outcome\": ", partition,
                bytes);
    add_text(&trace->events, outcome);
    gr_buf_addf(&trace->events, "}},\n");
}

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
trace_end(struct trace *trace, const struct places *places)
{
    struct gr_buf out = {0};
    granary_err err = GRANARY_OK;

    if (trace->path != NULL) {
        gr_buf_addf(&out, "[\n");
        gr_buf_add(&out, trace->events.bytes, trace->events.size);
        for (size_t p = 0; p <= places->count; p++) {
            gr_buf_addf(&out, "%s{\"ph\": \"M\", \"pid\": %zu, \"name\": \"process_name\", \"args\": {\"name\": ",
                        p == 0 ? "" : ",\n", p + 1);
            add_text(&out, p < places->count ? places->list[p].name : "home");
            gr_buf_addf(&out, "}}");
        }
        gr_buf_addf(&out, "\n]\n");
        err = gr_buf_ok(&out) && gr_buf_ok(&trace->events) ? write_file(trace->path, &out) : gr_no_memory(trace->path);
    }
    gr_buf_free(&out);
    gr_buf_free(&trace->events);
    return err;
}
