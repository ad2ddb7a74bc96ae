/*
 * Every allocation of this room fails once: the call then says so, keeps nothing, and leaves its results alone. (Leaks
 * are seen by the address sanitizer.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/chunk/graph.h"
#include "graph/expr.h"
#include "graph/graph.h"
#include "graph/operators/aggregate.h"
#include "graph_json/json.h"
#include "support.h"
#include "support/allocations.h"

static const char text[] =
    "{\"nodes\": {\"f\": {\"op\": \"read_csv\", \"path\": \"p\", \"null_values\": [\"\", \"-\"], \"header\": true},"
    "\"s\": {\"op\": \"select\", \"input\": \"f\", \"columns\": [\"a\", \"b\", \"d\"]},"
    "\"w\": {\"op\": \"filter\", \"input\": \"s\", \"where\": \"a / 2 > 1 and d < '2020-01-01'\"},"
    "\"c\": {\"op\": \"assign\", \"input\": \"w\", \"columns\": {\"e\": \"-abs(a)\", \"a\": \"`b`\"}},"
    "\"g\": {\"op\": \"groupby\", \"input\": \"c\", \"keys\": \"b\", \"aggregate\": {\"n\": \"size\", \"m\":"
    "\"sum(`e`)\"}},"
    "\"o\": {\"op\": \"sort\", \"input\": \"g\", \"by\": [\"n\"], \"descending\": [true]},"
    "\"j\": {\"op\": \"join\", \"inputs\": [\"o\", \"c\"], \"on\": \"b\"},"
    "\"m\": {\"op\": \"map_chunk\", \"input\": \"c\", \"function\": \"l:f\", \"columns\": {\"h\": \"float64\"},"
    "\"params\": {\"k\": 1, \"x\": 0.5, \"b\": true}}, \"i\": {\"op\": \"object\", \"ids\": \"12\"},"
    "\"k\": {\"op\": \"call\", \"inputs\": [\"m\", \"i\"], \"function\": \"f\", \"resources\": {\"gpu\": 1}},"
    "\"x\": {\"op\": \"exec\", \"input\": \"k\", \"command\": [\"wc\", \"-l\"]},"
    "\"y\": {\"op\": \"merge_asof\", \"inputs\": [\"f\", \"f\"], \"on\": \"a\", \"by\": \"b\", \"tolerance\": \"2\"},"
    "\"z\": {\"op\": \"pivot_table\", \"input\": \"f\", \"index\": \"d\", \"columns\": \"b\", \"values\": \"a\","
    "\"categories\": [\"p\"]}, \"v\": {\"op\": \"qcut\", \"input\": \"f\", \"column\": \"a\", \"q\": 2},"
    "\"t\": {\"op\": \"arange\", \"stop\": 4.5, \"shape\": [5]}, \"r\": {\"op\": \"sum\", \"input\": \"t\"}}}";

static granary_err
add_file(struct gr_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        struct gr_node_type *type = &graph->nodes[i]->type;
        granary_err err;

        if (strcmp(graph->nodes[i]->node->name, "f") != 0) {
            continue;
        }
        if ((err = gr_schema_add(&type->schema, "a", GRANARY_INT64)) != GRANARY_OK ||
            (err = gr_schema_add(&type->schema, "b", GRANARY_STRING)) != GRANARY_OK ||
            (err = gr_schema_add(&type->schema, "d", GRANARY_DATE)) != GRANARY_OK) {
            return err;
        }
        type->known = true;
    }
    return GRANARY_OK;
}

static granary_err
read_and_check(void)
{
    Granary__Graph *message = NULL;
    struct gr_graph *graph = NULL;
    struct gr_buf out = {0};
    granary_err err = gr_graph_from_json(text, sizeof text - 1, &message);

    if (err != GRANARY_OK) {
        assert_null(message);
        return err;
    }
    err = gr_graph_to_json(message, &out);
    gr_buf_free(&out);
    if (err == GRANARY_OK) {
        err = gr_graph_create(message, &graph);
    }
    if (err != GRANARY_OK) {
        assert_null(graph);
        granary__graph__free_unpacked(message, NULL);
        return err;
    }
    err = add_file(graph);
    if (err == GRANARY_OK) {
        err = gr_graph_infer(graph);
    }
    gr_graph_destroy(graph);
    return err;
}

static const char chunk_text[] =
    "{\"level\": \"chunk\", \"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [4], \"offset\": [0],"
    "\"size\": [4]}, \"b\": {\"op\": \"map\", \"function\": \"add\", \"inputs\": [\"a\", \"a:0\"]},"
    "\"c\": {\"op\": \"call\", \"function\": \"f\", \"inputs\": [\"object:12\", \"b\"], \"params\": {\"k\": 1}}}}";

static granary_err
read_and_check_chunks(void)
{
    Granary__Graph *message = NULL;
    struct gr_chunk_graph *graph = NULL;
    granary_err err = gr_graph_from_json(chunk_text, sizeof chunk_text - 1, &message);

    if (err != GRANARY_OK) {
        assert_null(message);
        return err;
    }
    err = gr_chunk_graph_create(message, &graph);
    if (err != GRANARY_OK) {
        assert_null(graph);
        granary__graph__free_unpacked(message, NULL);
    }
    gr_chunk_graph_destroy(graph);
    return err;
}

static granary_err
copy_attributes(void)
{
    char *keys[] = {(char *)(uintptr_t) "k", (char *)(uintptr_t) "l"};
    Granary__Attr *attr = gr_attr_new_map("m", keys, keys, 2);
    Granary__Attr *copy = attr == NULL ? NULL : gr_attr_copy(attr);
    Granary__Attr *number = gr_attr_new_double("d", 1);
    Granary__Attr *bools = gr_attr_new_bools("b", (bool[]){true}, 1);
    bool ok = copy != NULL && number != NULL && bools != NULL;

    granary__attr__free_unpacked(attr, NULL);
    granary__attr__free_unpacked(copy, NULL);
    granary__attr__free_unpacked(number, NULL);
    granary__attr__free_unpacked(bools, NULL);
    return ok ? GRANARY_OK : GRANARY_ENOMEM;
}

/* Run with the first, second, ... allocation failing, until all of them are there. */
static void
fail_each(granary_err (*run)(void))
{
    granary_err err = GRANARY_ENOMEM;
    long step = 0;

    for (; err != GRANARY_OK; step++) {
        allocations_left = step;
        err = run();
        if (allocations_left < 0 && err != GRANARY_ENOMEM) {
            fail_msg("allocation %ld failed, and the answer was %s, \"%s\"", step, granary_error_name(err),
                     granary_error_message());
        }
        allocations_left = -1;
        assert_true(step < 10000);
    }
    assert_true(step > 5);
}

static void
graphs_survive_any_allocation_that_fails(void **state)
{
    (void)state;
    fail_each(read_and_check);
    fail_each(read_and_check_chunks);
}

static void
attributes_survive_any_allocation_that_fails(void **state)
{
    (void)state;
    fail_each(copy_attributes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_survive_any_allocation_that_fails),
        cmocka_unit_test(attributes_survive_any_allocation_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
