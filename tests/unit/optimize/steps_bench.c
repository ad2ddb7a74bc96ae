#include "steps_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "graph_json/json.h"

void
bench_open(struct bench *bench, const char *nodes, const char *targets)
{
    static const char *const columns[] = {"k", "a", "b", "c"};
    char json[32768];
    Granary__Graph *message;

    *bench = (struct bench){0};
    (void)snprintf(json, sizeof json,
                   "{\"nodes\": {\"t\": {\"op\": \"read_csv\", \"path\": \"t\"},"
                   "\"u\": {\"op\": \"read_csv\", \"path\": \"u\"}, %s}, \"targets\": [%s]}",
                   nodes, targets);
    if (gr_graph_from_json(json, strlen(json), &message) != GRANARY_OK ||
        gr_graph_create(message, &bench->graph) != GRANARY_OK) {
        fail_msg("%s", granary_error_message());
    }
    for (size_t i = 0; i < bench->graph->count; i++) {
        struct gr_node_type *type = &bench->graph->nodes[i]->type;

        for (size_t c = 0; c < 4 && bench->graph->nodes[i]->op == GR_TILE_read_csv; c++) {
            assert_int_equal(gr_schema_add(&type->schema, columns[c], GRANARY_INT64), GRANARY_OK);
            type->known = true;
        }
    }
    if (gr_graph_infer(bench->graph) != GRANARY_OK ||
        gr_steps_create(bench->graph, &bench->fired, &bench->steps) != GRANARY_OK ||
        gr_optimize(bench->steps, 0) != GRANARY_OK) {
        fail_msg("%s", granary_error_message());
    }
}

void
bench_close(struct bench *bench)
{
    gr_steps_destroy(bench->steps);
    gr_graph_destroy(bench->graph);
    gr_buf_free(&bench->fired);
}

void
assert_fired(const struct bench *bench, const char *line)
{
    if (bench->fired.bytes == NULL || strstr(bench->fired.bytes, line) == NULL) {
        fail_msg("'%s' did not fire, but:\n%s", line, bench->fired.bytes == NULL ? "nothing" : bench->fired.bytes);
    }
}

void
assert_not_fired(const struct bench *bench, const char *rule)
{
    if (bench->fired.bytes != NULL && strstr(bench->fired.bytes, rule) != NULL) {
        fail_msg("'%s' fired:\n%s", rule, bench->fired.bytes);
    }
}

void
assert_steps(const struct bench *bench, const char *text)
{
    struct gr_buf out = {0};

    gr_steps_print(bench->steps, 100, &out);
    assert_string_equal(out.bytes, text);
    gr_buf_free(&out);
}
