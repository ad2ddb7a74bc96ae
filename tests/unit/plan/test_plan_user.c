/* Nodes that run user code, in plans: which subtasks they become, what those carry, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "graph/graph.h"
#include "world.h"

#define VERSION "00112233445566778899aabbccddeeff"
#define ID_1    "11111111111111111111111111111111"
#define ID_2    "22222222222222222222222222222222"

#define assert_message(text)                                                                                           \
    do {                                                                                                               \
        if (strstr(granary_error_message(), (text)) == NULL) {                                                         \
            fail_msg("\"%s\" has no \"%s\"", granary_error_message(), (text));                                         \
        }                                                                                                              \
    } while (0)

/* one: exactly one input; pair: two or more inputs, two outputs; any: any number. */
static granary_err
find_function(void *context, const char *text, struct gr_function *ret_function)
{
    struct gr_function function = {.outputs = 1, .sequence = 7};
    granary_err err = gr_function_parse(text, &function.name);

    (void)context;
    if (err != GRANARY_OK) {
        return err;
    }
    (void)strcpy(function.name.library, "lib");
    (void)strcpy(function.name.version, VERSION);
    if (strcmp(function.name.name, "one") == 0) {
        function.inputs_min = function.inputs_max = 1;
    } else if (strcmp(function.name.name, "pair") == 0) {
        function.inputs_min = 2;
        function.outputs = 2;
    } else if (strcmp(function.name.name, "any") != 0) {
        return gr_fail(GRANARY_ENOENT, "function '%s': there is none", text);
    }
    *ret_function = function;
    return GRANARY_OK;
}

/* What the subtasks looked like. */
struct seen {
    uint64_t user;      /* subtasks with user code */
    uint64_t most_ops;  /* of one of them */
    uint64_t instances; /* of nulls */
    Granary__Subtask *last;
};

static void
look(struct world *world, const Granary__Subtask *subtask, Granary__Done *done)
{
    struct seen *seen = world->user;
    const Granary__ChunkOp *op = subtask->ops[0];
    uint8_t *bytes = malloc(granary__subtask__get_packed_size(subtask) + 1);

    (void)done;
    if (strcmp(op->op, "null") == 0) {
        int64_t count = gr_attr_int(op->attrs, op->n_attrs, "instances", 1);

        assert_true(count >= 1 && count <= 1024);
        assert_int_equal(gr_attr_int(op->attrs, op->n_attrs, "index", 0), seen->instances);
        seen->instances += (uint64_t)count;
    }
    if (strcmp(op->op, "call") == 0 || strcmp(op->op, "exec") == 0) {
        seen->user++;
        seen->most_ops = subtask->n_ops > seen->most_ops ? subtask->n_ops : seen->most_ops;
        assert_string_equal(subtask->graph, "key");
        for (size_t i = 1; i < subtask->n_ops; i++) {
            assert_string_equal(subtask->ops[i]->op, op->op);
        }
        if (seen->last != NULL) {
            granary__subtask__free_unpacked(seen->last, NULL);
        }
        seen->last = granary__subtask__unpack(NULL, granary__subtask__pack(subtask, bytes), bytes);
    } else {
        assert_string_equal(subtask->graph, "");
        assert_int_equal(subtask->exports, 0);
    }
    free(bytes);
}

static int
setup(void **state)
{
    struct world *world;
    int failed = world_setup(state);

    world = *state;
    world->options.find_function = find_function;
    world->run = look;
    world->user = calloc(1, sizeof(struct seen));
    return failed;
}

static int
teardown(void **state)
{
    struct world *world = *state;
    struct seen *seen = world->user;

    if (seen->last != NULL) {
        granary__subtask__free_unpacked(seen->last, NULL);
    }
    free(seen);
    return world_teardown(state);
}

static const char *
text_of(const Granary__ChunkOp *op, const char *name)
{
    return gr_attr_string(op->attrs, op->n_attrs, name, "");
}

/* ---- */

static void
an_array_of_calls_is_a_subtask_each(void **state)
{
    struct world *world = *state;
    const struct seen *seen = world->user;
    const Granary__ChunkOp *op;
    Granary__Result *result;

    world_must(world, "{\"nodes\": {\"o\": {\"op\": \"object\", \"ids\": [\"" ID_1 "\", \"" ID_2 "\"]},"
                      "\"c\": {\"op\": \"call\", \"input\": \"o\", \"function\": \"lib:pair\", \"count\": 5,"
                      "\"params\": {\"k\": 3, \"x\": 0.5, \"t\": \"text\"}, \"retries\": 2, \"timeout_ms\": 1500,"
                      "\"memory\": 4096, \"resources\": {\"gpu\": 2}}}}");
    assert_int_equal(world->subtasks, 5);
    assert_int_equal(seen->user, 5);
    assert_int_equal(seen->most_ops, 1);
    assert_int_equal(seen->last->exports, 7);
    assert_int_equal(seen->last->retries, 2);
    assert_int_equal(seen->last->timeout_ms, 1500);
    assert_int_equal(seen->last->memory_bytes, 4096);
    assert_string_equal(seen->last->directory, world->directory);
    assert_int_equal(seen->last->n_resources, 1);
    assert_string_equal(seen->last->resources[0]->name, "gpu");
    assert_int_equal(seen->last->resources[0]->amount, 2);
    op = seen->last->ops[0];
    assert_string_equal(op->node, "c");
    assert_string_equal(text_of(op, "library"), "lib");
    assert_string_equal(text_of(op, "version"), VERSION);
    assert_string_equal(text_of(op, "function"), "pair");
    assert_int_equal(gr_attr_int(op->attrs, op->n_attrs, "index", -1), 4);
    assert_int_equal(gr_attr_int(op->attrs, op->n_attrs, "count", -1), 5);
    assert_string_equal(gr_attr_find(op->attrs, op->n_attrs, "params")->strings[0], "3");
    assert_int_equal(op->n_inputs, 2);
    assert_int_equal(op->inputs[1]->object.data[0], 0x22);
    assert_int_equal(op->n_outputs, 2);
    result = world_result(world, "c");
    assert_true(result->is_objects);
    assert_int_equal(result->n_chunks, 10);
    for (size_t i = 0; i < result->n_chunks; i++) { /* call i at its place */
        assert_int_equal(world_find(world, result->chunks[i]->id.data)->maker, i / 2);
    }
    granary__result__free_unpacked(result, NULL);
}

static void
a_block_of_calls_is_one_subtask(void **state)
{
    struct world *world = *state;
    const struct seen *seen = world->user;

    world_must(world, "{\"nodes\": {\"c\": {\"op\": \"call\", \"function\": \"any\", \"count\": 1000, \"block\": 300},"
                      "\"d\": {\"op\": \"exec\", \"command\": [\"sort\", \"-n\"], \"input\": \"c\"}}}");
    assert_int_equal(world->subtasks, 5);
    assert_int_equal(seen->most_ops, 300);
    assert_int_equal(seen->last->ops[0]->n_inputs, 1000);
    assert_string_equal(gr_attr_find(seen->last->ops[0]->attrs, seen->last->ops[0]->n_attrs, "command")->strings[1],
                        "-n");
    assert_int_equal(world_ops(world, "call"), 1000);
}

static void
a_million_nulls_are_a_thousand_subtasks(void **state)
{
    struct world *world = *state;
    const struct seen *seen = world->user;

    world_must(world, "{\"nodes\": {\"n\": {\"op\": \"null\", \"count\": 1000000}}}");
    assert_int_equal(world->subtasks, 977);
    assert_int_equal(seen->instances, 1000000);
}

/* A null after an array waits for all of it; one after objects that are there, for nothing. */
static void
nulls_come_after_user_code(void **state)
{
    struct world *world = *state;

    world_must(world, "{\"nodes\": {\"c\": {\"op\": \"call\", \"function\": \"any\", \"count\": 9},"
                      "\"o\": {\"op\": \"object\", \"ids\": \"" ID_1 "\"},"
                      "\"n\": {\"op\": \"null\", \"inputs\": [\"o\", \"c\"]}}}");
    assert_int_equal(world->subtasks, 10);
    assert_int_equal(world->afters, 9);
}

/* What a function reads is all of its input; what it makes can be worked on, and is not fused with it. */
static void
a_frame_goes_through_a_function(void **state)
{
    struct world *world = *state;
    const struct seen *seen = world->user;
    struct gr_buf rows = {0};

    world->run = NULL;
    gr_buf_addf(&rows, "k,v,rest\n");
    for (int i = 0; i < 90; i++) {
        gr_buf_addf(&rows, "k%d,%03d,rest\n", i % 9, i);
    }
    world_file(world, "t.csv", rows.bytes);
    gr_buf_free(&rows);
    world->options.chunk_bytes = 154;
    world_must(world, "{\"nodes\": {\"t\": {\"op\": \"read_csv\", \"path\": \"t.csv\"},"
                      "\"f\": {\"op\": \"filter\", \"input\": \"t\", \"where\": \"v > 3\"},"
                      "\"m\": {\"op\": \"map_chunk\", \"input\": \"f\", \"function\": \"one\","
                      "\"columns\": {\"half\": \"float64\", \"v\": \"string\"}},"
                      "\"g\": {\"op\": \"groupby\", \"input\": \"m\", \"keys\": \"v\","
                      "\"aggregate\": {\"s\": \"sum(half)\"}}}}");
    assert_true(world_ops(world, "csv_read") > 3);
    assert_int_equal(world_ops(world, "call"), world_ops(world, "csv_read"));
    assert_int_equal(world_ops(world, "select"), 0);
    assert_int_equal(seen->user, 0);
    world_reset(world);
    /* In one chunk: read and filter, the function, and the rest; the function's result is declared in full. */
    world->options.chunk_bytes = 0;
    world_must(world, "{\"nodes\": {\"t\": {\"op\": \"read_csv\", \"path\": \"t.csv\"},"
                      "\"m\": {\"op\": \"map_chunk\", \"input\": \"t\", \"function\": \"one\","
                      "\"columns\": {\"half\": \"float64\", \"v\": \"string\"}},"
                      "\"g\": {\"op\": \"filter\", \"input\": \"m\", \"where\": \"half > 1 and v = 'a'\"}}}");
    assert_int_equal(world->subtasks, 4);
}

static void
what_a_function_makes_is_declared(void **state)
{
    struct world *world = *state;
    const struct seen *seen = world->user;
    const Granary__ChunkOp *op;
    const Granary__Attr *shape;
    Granary__Result *result;

    world_must(world, "{\"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [10, 6], \"chunk\": [4, 6]},"
                      "\"m\": {\"op\": \"map_chunk\", \"input\": \"a\", \"function\": \"one\", \"dtype\": \"int64\"},"
                      "\"s\": {\"op\": \"sum\", \"input\": \"m\"}}, \"targets\": [\"m\", \"s\"]}");
    assert_int_equal(seen->user, 3);
    op = seen->last->ops[0];
    shape = gr_attr_find(op->attrs, op->n_attrs, "shape");
    assert_int_equal(shape->n_ints, 2);
    assert_int_equal(shape->ints[0], 2);
    assert_int_equal(shape->ints[1], 6);
    assert_string_equal(text_of(op, "dtype"), "int64");
    result = world_result(world, "m");
    assert_true(result->is_tensor);
    assert_false(result->is_objects);
    assert_int_equal(result->n_chunks, 3);
    granary__result__free_unpacked(result, NULL);
}

/* Nodes that are written as others move those behind them, once before files are read and once when they were. */
static void
functions_and_files_follow_their_nodes(void **state)
{
    struct world *world = *state;

    world->run = NULL;
    world_file(world, "t.csv", "k,v\nx,1\ny,2\n");
    world_must(world, "{\"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [4]},"
                      "\"p\": {\"op\": \"kron\", \"inputs\": [\"a\", \"a\"]},"
                      "\"m\": {\"op\": \"map_chunk\", \"input\": \"p\", \"function\": \"one\"},"
                      "\"t\": {\"op\": \"read_csv\", \"path\": \"t.csv\"},"
                      "\"q\": {\"op\": \"factorize\", \"input\": \"t\", \"column\": \"v\"},"
                      "\"u\": {\"op\": \"read_csv\", \"path\": \"t.csv\"},"
                      "\"f\": {\"op\": \"map_chunk\", \"input\": \"u\", \"function\": \"one\"}},"
                      "\"targets\": [\"m\", \"q\", \"f\"]}");
    assert_int_equal(world_ops(world, "call"), 2);
}

static const struct refused {
    const char *nodes; /* beside an array of calls c, a frame-less tensor t and an object o */
    granary_err err;
    const char *want;
} refusals[] = {
    {"\"op\": \"call\", \"function\": \"none\"", GRANARY_ENOENT, "node 'x' (call): function 'none': there is none"},
    {"\"op\": \"call\", \"function\": \"a b\"", GRANARY_EINVAL, "'a b' names no function"},
    {"\"op\": \"call\", \"function\": \"lib@1:any\"", GRANARY_EINVAL, "names no function"},
    {"\"op\": \"call\", \"function\": \"one\"", GRANARY_EINVAL, "function one takes 1 inputs, but is given 0 chunks"},
    {"\"op\": \"call\", \"function\": \"pair\", \"input\": \"o\"", GRANARY_EINVAL, "takes at least 2 inputs"},
    {"\"op\": \"call\", \"function\": \"pair\", \"inputs\": [\"o\", \"o\"], \"outputs\": 3", GRANARY_EINVAL,
     "parameter 'outputs' is 3, but function pair makes 2"},
    {"\"op\": \"map_chunk\", \"function\": \"pair\", \"input\": \"o\"", GRANARY_EINVAL, "makes 2 outputs"},
    {"\"op\": \"map_chunk\", \"function\": \"one\", \"input\": \"n\"", GRANARY_ETYPE, "(null) yields nothing"},
    {"\"op\": \"map_chunk\", \"function\": \"one\", \"input\": \"t\", \"columns\": {\"a\": \"int64\"}", GRANARY_EINVAL,
     "parameter 'columns' is for frames"},
    {"\"op\": \"map_chunk\", \"function\": \"one\", \"input\": \"t\", \"dtype\": \"string\"", GRANARY_EINVAL,
     "no dtype 'string' of tensors"},
    {"\"op\": \"map_chunk\", \"function\": \"one\", \"input\": \"t\", \"columns\": {\"a\": \"int\"}", GRANARY_EINVAL,
     "column 'a': no dtype 'int'"},
    {"\"op\": \"map_chunk\", \"function\": \"one\", \"input\": \"o\", \"only\": true", GRANARY_EINVAL,
     "'only' needs 'columns'"},
    {"\"op\": \"head\", \"input\": \"c\", \"rows\": 1", GRANARY_ETYPE,
     "it works on frames, but its input 'c' (call) yields objects"},
    {"\"op\": \"sum\", \"input\": \"o\"", GRANARY_ETYPE, "its input 'o' (object) yields objects"},
    {"\"op\": \"exec\", \"command\": []", GRANARY_EINVAL, "'command' names no program"},
    {"\"op\": \"call\", \"function\": \"any\", \"count\": 0", GRANARY_EINVAL, "parameter 'count' is 0"},
    {"\"op\": \"call\", \"function\": \"any\", \"block\": 2000", GRANARY_EINVAL, "parameter 'block' is 2000"},
    {"\"op\": \"call\", \"function\": \"any\", \"retries\": -1", GRANARY_EINVAL, "parameter 'retries' is -1"},
    {"\"op\": \"call\", \"function\": \"any\", \"resources\": {\"gpu\": \"-1\"}", GRANARY_EINVAL,
     "'resources', 'gpu': '-1' is no whole number"},
    {"\"op\": \"object\", \"ids\": \"xyz\"", GRANARY_EINVAL, "'xyz' is no id"},
    {"\"op\": \"object\", \"ids\": []", GRANARY_EINVAL, "'ids' names no object"},
    {"\"op\": \"object\", \"ids\": \"" ID_1 "\"", GRANARY_EINVAL, "node 'x' (object): its objects are there already"},
    {"\"op\": \"call\", \"function\": \"any\", \"input\": \"short\"", GRANARY_EINVAL, "'11' is not a whole id"},
};

static void
what_cannot_run_is_refused(void **state)
{
    struct world *world = *state;

    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        char json[1024];
        struct gr_plan_batch batch;
        granary_err err;

        (void)snprintf(json, sizeof json,
                       "{\"nodes\": {\"o\": {\"op\": \"object\", \"ids\": \"" ID_1
                       "\"}, \"short\": {\"op\": \"object\","
                       "\"ids\": \"11\"}, \"t\": {\"op\": \"random\", \"shape\": [2]}, \"n\": {\"op\": \"null\"},"
                       "\"c\": {\"op\": \"call\", \"function\": \"any\"}, \"x\": {%s}}, \"targets\": \"x\"}",
                       refusals[i].nodes);
        err = world_plan(world, json);
        if (err == GRANARY_OK) {
            err = world_advance(world, &batch);
        }
        if (err != refusals[i].err || strstr(granary_error_message(), refusals[i].want) == NULL) {
            fail_msg("%s: %s, \"%s\"; wanted %s, \"%s\"", refusals[i].nodes, granary_error_name(err),
                     granary_error_message(), granary_error_name(refusals[i].err), refusals[i].want);
        }
        world_reset(world);
    }
}

/* ---- chunk graphs ---- */

static void
a_chunk_graph_is_run_as_it_is(void **state)
{
    struct world *world = *state;
    const struct seen *seen = world->user;
    const Granary__ChunkOp *op;
    Granary__Result *result;
    struct gr_buf text = {0};

    world_must(world, "{\"level\": \"chunk\", \"nodes\": {"
                      "\"c\": {\"op\": \"call\", \"function\": \"pair\", \"inputs\": [\"r\", \"object:" ID_1
                      "\", \"a:b:0\", \"object:" ID_2 "\"], \"index\": 3, \"count\": 9, \"retries\": 1,"
                      "\"params\": {\"k\": 1}},"
                      "\"a:b\": {\"op\": \"random\", \"shape\": [4], \"offset\": [2], \"size\": [2]},"
                      "\"r\": {\"op\": \"map\", \"function\": \"sqrt\", \"input\": \"a:b\"},"
                      "\"m\": {\"op\": \"map\", \"function\": \"add\", \"inputs\": [\"a:b\", \"r:0\"]},"
                      "\"n\": {\"op\": \"null\", \"inputs\": [\"c:1\", \"unused\"]},"
                      "\"unused\": {\"op\": \"null\"}}, \"targets\": [\"m\", \"c\"]}");
    assert_int_equal(world->subtasks, 2); /* random, map and map; then the call. What no target needs is left out */
    assert_int_equal(world_ops(world, "null"), 0);
    op = seen->last->ops[0];
    assert_int_equal(seen->last->retries, 1);
    assert_int_equal(seen->last->exports, 7);
    assert_string_equal(text_of(op, "library"), "lib");
    assert_string_equal(text_of(op, "function"), "pair");
    assert_null(gr_attr_find(op->attrs, op->n_attrs, "retries"));
    assert_int_equal(gr_attr_int(op->attrs, op->n_attrs, "index", -1), 3);
    assert_int_equal(op->n_inputs, 4);
    assert_int_equal(op->inputs[1]->object.data[0], 0x11);
    assert_int_equal(op->inputs[3]->object.data[0], 0x22);
    assert_non_null(world_find(world, op->inputs[0]->object.data));
    result = world_result(world, "c");
    assert_int_equal(result->n_chunks, 2);
    granary__result__free_unpacked(result, NULL);
    result = world_result(world, "m");
    assert_int_equal(result->n_chunks, 1);
    granary__result__free_unpacked(result, NULL);
    assert_true(gr_plan_uses(world->plan, "lib", VERSION));
    gr_plan_explain(world->plan, &text);
    assert_non_null(strstr(text.bytes, "  m * = map(a:b, r:0)\n"));
    gr_buf_free(&text);
}

static void
chunk_graphs_are_checked(void **state)
{
    static const struct refused wrongs[] = {
        {"\"op\": \"concats\"", GRANARY_ENOENT,
         "node 'x' (concats): there is no operator 'concats' on chunks; did you"},
        {"\"op\": \"csv_infer\"", GRANARY_ENOENT, "no operator 'csv_infer' on chunks"},
        {"\"op\": \"object\"", GRANARY_ENOENT, "no operator 'object' on chunks"},
        {"\"op\": \"filter\", \"input\": \"a\"", GRANARY_EINVAL, "parameter 'where' is missing"},
        {"\"op\": \"concat\", \"input\": \"a\", \"rows\": 1", GRANARY_EINVAL, "no parameter 'rows'"},
        {"\"op\": \"concat\", \"input\": \"a:1\"", GRANARY_EINVAL,
         "node 'x' (concat): input 'a:1': node 'a' (random) has 1 output"},
        {"\"op\": \"concat\", \"input\": \"c:2\"", GRANARY_EINVAL, "node 'c' (call) has 2 outputs"},
        {"\"op\": \"concat\", \"input\": \"n\"", GRANARY_EINVAL, "node 'n' (null) has 0 outputs"},
        {"\"op\": \"concat\", \"input\": \"s:3\"", GRANARY_EINVAL, "node 's' (sort_split) has 3 outputs"},
        {"\"op\": \"concat\", \"input\": \"b\"", GRANARY_ENOENT, "there is no node 'b'"},
        {"\"op\": \"concat\", \"input\": \"a:x\"", GRANARY_ENOENT, "there is no node 'a:x'"},
        {"\"op\": \"concat\", \"input\": \"object:12\"", GRANARY_EINVAL, "'object:12' is not a whole id"},
        {"\"op\": \"concat\", \"input\": \"object:\"", GRANARY_EINVAL, "names no object"},
        {"\"op\": \"concat\", \"input\": \"x\"", GRANARY_EINVAL, "depends on its own result"},
        {"\"op\": \"call\", \"function\": \"none\"", GRANARY_ENOENT, "there is none"},
        {"\"op\": \"call\", \"function\": \"one\"", GRANARY_EINVAL, "function one takes 1 inputs, but is given 0"},
        {"\"op\": \"exec\", \"command\": \"\"", GRANARY_EINVAL, "names no program"},
    };
    struct world *world = *state;

    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        char json[1024];
        granary_err err;

        (void)snprintf(json, sizeof json,
                       "{\"level\": \"chunk\", \"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [4],"
                       "\"offset\": [2], \"size\": [2]}, \"c\": {\"op\": \"call\", \"function\": \"pair\","
                       "\"inputs\": [\"a\", \"a\"]}, \"n\": {\"op\": \"null\"}, \"s\": {\"op\": \"sort_split\","
                       "\"by\": \"a\", \"descending\": false, \"parts\": 3, \"chunk\": 0}, \"x\": {%s}}}",
                       wrongs[i].nodes);
        err = world_plan(world, json);
        if (err != wrongs[i].err || strstr(granary_error_message(), wrongs[i].want) == NULL) {
            fail_msg("%s: %s, \"%s\"; wanted %s, \"%s\"", wrongs[i].nodes, granary_error_name(err),
                     granary_error_message(), granary_error_name(wrongs[i].err), wrongs[i].want);
        }
        world_reset(world);
    }
}

static void
libraries_in_use_are_known(void **state)
{
    struct world *world = *state;

    world_must(world, "{\"nodes\": {\"c\": {\"op\": \"call\", \"function\": \"any\"}}}");
    assert_true(gr_plan_uses(world->plan, "lib", VERSION));
    assert_false(gr_plan_uses(world->plan, "lib", "00000000000000000000000000000000"));
    assert_false(gr_plan_uses(world->plan, "libx", VERSION));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_array_of_calls_is_a_subtask_each, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_of_calls_is_one_subtask, setup, teardown),
        cmocka_unit_test_setup_teardown(a_million_nulls_are_a_thousand_subtasks, setup, teardown),
        cmocka_unit_test_setup_teardown(nulls_come_after_user_code, setup, teardown),
        cmocka_unit_test_setup_teardown(a_frame_goes_through_a_function, setup, teardown),
        cmocka_unit_test_setup_teardown(functions_and_files_follow_their_nodes, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_function_makes_is_declared, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_run_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_chunk_graph_is_run_as_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(chunk_graphs_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(libraries_in_use_are_known, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
