/* Lines, names and amounts, as answers have them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sched/core/manager.h"
#include "sched/execution/describe.h"
#include "sched/info/why_private.h"

void
why_line(struct why *why, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gr_buf_addf(why->out, "%*s", why->depth * 2, "");
    gr_buf_add(why->out, text, strlen(text));
    gr_buf_add(why->out, "\n", 1);
}

struct words
why_since(const struct why *why, int64_t ns)
{
    double seconds = (double)(why->manager->now_ns - ns) / 1e9;
    struct words words;

    if (ns == 0) {
        (void)snprintf(words.text, sizeof words.text, "an unknown time");
    } else if (seconds < 120) {
        (void)snprintf(words.text, sizeof words.text, "%.3g s", seconds < 0 ? 0 : seconds);
    } else {
        (void)snprintf(words.text, sizeof words.text, "%.0f min", seconds / 60);
    }
    return words;
}

struct words
why_size(uint64_t bytes)
{
    struct words words;

    if (bytes < 1048576) {
        (void)snprintf(words.text, sizeof words.text, "%.1f KiB", (double)bytes / 1024);
    } else {
        (void)snprintf(words.text, sizeof words.text, "%.1f MiB", (double)bytes / 1048576);
    }
    return words;
}

const char *
why_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

struct name
why_name(const struct task_graph *graph, uint32_t number)
{
    struct execution_graph *execution = graph_execution(graph);
    const struct subtask *subtask = execution == NULL ? NULL : execution_graph_subtask(execution, number);
    struct gr_buf node = {0};
    struct gr_buf ops = {0};
    struct name name;

    if (subtask != NULL) {
        subtask_says(subtask, &node, &ops);
    }
    (void)snprintf(name.text, sizeof name.text, "%s/%" PRIu32 " (node '%.60s': %.80s)", graph->key, number,
                   node.size > 0 && gr_buf_ok(&node) ? node.bytes : "?",
                   ops.size > 0 && gr_buf_ok(&ops) ? ops.bytes : "?");
    gr_buf_free(&node);
    gr_buf_free(&ops);
    return name;
}

struct name
why_name_of_wire(const struct why *why, uint64_t wire_number)
{
    const struct task_graph *graph = graph_of_number(why->manager, wire_number);
    struct name name = {"a subtask that is gone"};

    return graph == NULL ? name : why_name(graph, (uint32_t)wire_number);
}
