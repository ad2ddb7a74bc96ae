#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/builder.h"
#include "graph/chunk/graph.h"
#include "support.h"

/* Build, check: the check's answer. */
static granary_err
check(const granary_graph *graph)
{
    Granary__Graph *message = NULL;
    struct gr_graph *checked = NULL;
    granary_err err = gr_builder_finish(graph, &message);

    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_graph_create(message, &checked);
    if (err != GRANARY_OK) {
        granary__graph__free_unpacked(message, NULL);
    }
    gr_graph_destroy(checked);
    return err;
}

static void
a_graph_built_call_by_call_passes_the_check(void **state)
{
    granary_graph *graph = granary_graph_create();
    granary_node strikes = granary_graph_add(graph, "strikes", "read_csv", NULL, 0);
    granary_node cost = granary_graph_add(graph, NULL, "assign", &strikes, 1);
    granary_node by = granary_graph_add(graph, "by", "groupby", &cost, 1);
    granary_node top = granary_graph_add(graph, "top", "sort", &by, 1);
    granary_node tensor = granary_graph_add(graph, "tensor", "random", NULL, 0);
    granary_node more = granary_graph_add(graph, "more", "add", &tensor, 1);
    Granary__Graph *message = NULL;
    const Granary__Node *node;

    (void)state;
    granary_node_set_string(graph, strikes, "path", "birdstrikes.csv");
    granary_node_set_bool(graph, strikes, "header", true);
    granary_node_set_entry(graph, cost, "columns", "cost", "`Cost Total $` / 1000");
    granary_node_set_entry(graph, cost, "columns", "one", "2");
    granary_node_set_entry(graph, cost, "columns", "one", "1");
    granary_node_set_strings(graph, by, "keys", (const char *const[]){"Wildlife Species", "Origin State"}, 2);
    granary_node_set_entry(graph, by, "aggregate", "n", "size");
    granary_node_set_string(graph, top, "by", "wrong");
    granary_node_set_strings(graph, top, "by", (const char *const[]){"n", "Origin State"}, 2);
    granary_node_set_bools(graph, top, "descending", (const bool[]){true, false}, 2);
    granary_node_set_ints(graph, tensor, "shape", (const int64_t[]){3, 4}, 2);
    granary_node_set_int(graph, tensor, "seed", 7);
    granary_node_set_double(graph, more, "value", 0.5);
    granary_graph_target(graph, top);
    granary_graph_target(graph, more);
    assert_succeeds(check(graph));

    assert_succeeds(gr_builder_finish(graph, &message));
    granary_graph_destroy(graph); /* the message stands alone */
    assert_int_equal(message->n_nodes, 6);
    node = message->nodes[cost];
    assert_string_equal(node->name, "assign#2");
    assert_string_equal(node->inputs[0], "strikes");
    assert_int_equal(node->attrs[0]->n_keys, 2);
    assert_string_equal(node->attrs[0]->keys[1], "one");
    assert_string_equal(node->attrs[0]->strings[1], "1");
    node = message->nodes[top];
    assert_int_equal(node->n_attrs, 2);
    assert_string_equal(node->attrs[0]->strings[0], "n");
    assert_int_equal(node->attrs[1]->ints[0], 1);
    assert_int_equal(node->attrs[1]->ints[1], 0);
    assert_int_equal(message->n_targets, 2);
    assert_string_equal(message->targets[1], "more");
    granary__graph__free_unpacked(message, NULL);
}

/* Building goes on after a mistake, and the first one is told, not the last. */
static void
the_first_mistake_is_told_at_the_end(void **state)
{
    granary_graph *graph = granary_graph_create();
    granary_node wrong = 5;

    (void)state;
    assert_int_equal(granary_graph_add(graph, "x", "head", &wrong, 1), GRANARY_NO_NODE);
    granary_node_set_int(graph, GRANARY_NO_NODE, "rows", 1);
    granary_graph_target(graph, GRANARY_NO_NODE);
    assert_int_equal(granary_graph_add(graph, "y", "null", NULL, 0), 0);
    (void)gr_fail(GRANARY_EIO, "something else happened in between");
    assert_fails(check(graph), GRANARY_EINVAL, "node 'x' (head): input 1 is no node of this graph");
    granary_graph_destroy(graph);
}

static void
null_pointers_are_mistakes_and_no_crash(void **state)
{
    static const char *const holes[] = {"a", NULL};

    (void)state;
    for (int i = 0; i < 8; i++) {
        granary_graph *graph = granary_graph_create();
        granary_node node = granary_graph_add(graph, "n", "null", NULL, 0);

        switch (i) {
        case 0:
            assert_int_equal(granary_graph_add(graph, NULL, NULL, NULL, 0), GRANARY_NO_NODE);
            break;
        case 1:
            assert_int_equal(granary_graph_add(graph, NULL, "null", NULL, 1), GRANARY_NO_NODE);
            break;
        case 2:
            granary_node_set_int(graph, node, NULL, 1);
            break;
        case 3:
            granary_node_set_string(graph, node, "key", NULL);
            break;
        case 4:
            granary_node_set_strings(graph, node, "key", holes, 2);
            break;
        case 5:
            granary_node_set_entry(graph, node, "key", NULL, "text");
            break;
        case 6:
            granary_node_set_entry(graph, node, "key", "entry", NULL);
            break;
        default:
            granary_graph_target(graph, 1);
            break;
        }
        assert_int_equal(check(graph), GRANARY_EINVAL);
        granary_graph_destroy(graph);
    }
    granary_graph_destroy(NULL);
}

static void
the_check_sees_what_was_built(void **state)
{
    granary_graph *graph = granary_graph_create();
    granary_node strikes = granary_graph_add(graph, "strikes", "read_csv", NULL, 0);
    granary_node again;

    (void)state;
    assert_fails(check(graph), GRANARY_EINVAL, "node 'strikes' (read_csv): parameter 'path' is missing");
    granary_node_set_string(graph, strikes, "path", "a.csv");
    assert_succeeds(check(graph));
    again = granary_graph_add(graph, "strikes", "head", &strikes, 1);
    granary_node_set_int(graph, again, "rows", 1);
    assert_fails(check(graph), GRANARY_EINVAL, "node 'strikes' (head): an earlier node has the same name");
    granary_graph_destroy(graph);
}

static void
a_chunk_graph_is_built_with_outputs_and_objects(void **state)
{
    granary_graph *graph = granary_graph_create();
    granary_node split = granary_graph_add(graph, "a:b", "sort_split", NULL, 0);
    granary_node call = granary_graph_add(graph, "call", "call", NULL, 0);
    granary_id id = {.bytes = {[15] = 0x21}};
    struct gr_chunk_graph *checked = NULL;
    Granary__Graph *message = NULL;

    (void)state;
    granary_graph_set_level(graph, GRANARY_LEVEL_CHUNK);
    granary_node_set_strings(graph, split, "by", (const char *const[]){"k"}, 1);
    granary_node_set_bools(graph, split, "descending", (const bool[]){false}, 1);
    granary_node_set_int(graph, split, "parts", 3);
    granary_node_set_int(graph, split, "chunk", 0);
    granary_node_add_object(graph, split, id);
    granary_node_set_string(graph, call, "function", "f");
    granary_node_add_output(graph, call, split, 2);
    granary_node_add_input(graph, call, split);
    granary_graph_target(graph, call);
    assert_succeeds(gr_builder_finish(graph, &message));
    assert_string_equal(message->nodes[0]->inputs[0], "object:00000000000000000000000000000021");
    assert_string_equal(message->nodes[1]->inputs[0], "a:b:2");
    assert_succeeds(gr_chunk_graph_create(message, &checked));
    assert_int_equal(checked->nodes[1].inputs[0].output, 2);
    assert_int_equal(checked->nodes[1].inputs[1].output, 0);
    assert_memory_equal(&checked->nodes[0].inputs[0].object, &id, sizeof id);
    assert_succeeds(gr_chunk_graph_settle(checked));
    gr_chunk_graph_destroy(checked);
    granary_node_add_output(graph, call, 7, 0);
    assert_fails(gr_builder_finish(graph, &message), GRANARY_EINVAL, "an input is an output of no node of this graph");
    granary_graph_destroy(graph);
    graph = granary_graph_create();
    granary_graph_set_level(graph, (granary_graph_level)7);
    assert_fails(gr_builder_finish(graph, &message), GRANARY_EINVAL, "level 7");
    granary_graph_destroy(graph);
}

static void
an_empty_graph_is_told(void **state)
{
    granary_graph *graph = granary_graph_create();

    (void)state;
    assert_fails(check(graph), GRANARY_EINVAL, "the graph has no nodes");
    granary_graph_destroy(graph);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_built_call_by_call_passes_the_check),
        cmocka_unit_test(the_first_mistake_is_told_at_the_end),
        cmocka_unit_test(null_pointers_are_mistakes_and_no_crash),
        cmocka_unit_test(the_check_sees_what_was_built),
        cmocka_unit_test(a_chunk_graph_is_built_with_outputs_and_objects),
        cmocka_unit_test(an_empty_graph_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
