/* Plans of many shapes: sound batches, the operators that should be there, ids, sizes, speed, and the text of one. */
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

/* A file of about rows * 12 bytes: key, value, and a column that is rarely needed. */
static void
write_rows(const struct world *world, int rows)
{
    struct gr_buf text = {0};

    gr_buf_addf(&text, "k,v,rest\n");
    for (int i = 0; i < rows; i++) {
        gr_buf_addf(&text, "k%d,%03d,rest\n", i % 9, i);
    }
    world_file(world, "t.csv", text.bytes);
    gr_buf_free(&text);
}

#define T "\"t\": {\"op\": \"read_csv\", \"path\": \"t.csv\"}"
#define MAIN_JOB                                                                                                       \
    "{\"nodes\": {" T ", \"g\": {\"op\": \"groupby\", \"input\": \"t\", \"keys\": \"k\", \"aggregate\":"               \
    " {\"n\": \"size\", \"total\": \"sum(v)\"}},"                                                                      \
    "\"s\": {\"op\": \"sort\", \"input\": \"g\", \"by\": \"total\", \"descending\": true},"                            \
    "\"h\": {\"op\": \"head\", \"input\": \"s\", \"rows\": 10}}, \"targets\": \"h\"}"

static void
a_small_file_takes_two_subtasks(void **state)
{
    struct world *world = *state;

    write_rows(world, 20);
    world_must(world, MAIN_JOB);
    assert_int_equal(world->batches, 2); /* types, then all the rest fused */
    assert_int_equal(world->subtasks, 2);
    assert_int_equal(world_ops(world, "csv_split"), 0);
    assert_int_equal(world_ops(world, "csv_infer"), 1);
    assert_int_equal(world_ops(world, "concat"), 0); /* head went into sort */
    assert_int_equal(world->object_count, 1);
}

static void
sixty_chunks_are_read_grouped_and_merged(void **state)
{
    struct world *world = *state;
    Granary__Result *result;

    write_rows(world, 720);
    world->options.chunk_bytes = 154;
    world_must(world, MAIN_JOB);
    assert_int_equal(world->batches, 3);
    assert_true(world_ops(world, "csv_split") >= 50);
    assert_int_equal(world_ops(world, "csv_read"), world_ops(world, "csv_split"));
    assert_int_equal(world_ops(world, "groupby_map"), world_ops(world, "csv_read"));
    assert_true(world_ops(world, "groupby_merge") >= world_ops(world, "groupby_map") / 8);
    assert_int_equal(world_ops(world, "groupby_final"), 1);
    assert_int_equal(world_ops(world, "sort"), 1);
    /* read and map are one subtask, and so are final and sort: objects are only what crosses subtasks */
    assert_int_equal(world->object_count, world_ops(world, "csv_read") + world_ops(world, "groupby_merge") + 1);
    result = world_result(world, "h");
    assert_int_equal(result->n_chunks, 1);
    assert_false(result->is_tensor);
    assert_non_null(world_find(world, result->chunks[0]->id.data));
    granary__result__free_unpacked(result, NULL);
}

/* What the split tells of types is not asked for once more, where it was right about where records begin. */
static void
types_told_with_the_split_are_taken(void **state)
{
    struct world *world = *state;

    write_rows(world, 720);
    world->options.chunk_bytes = 154;
    world->types_in_split = true;
    world_must(world, MAIN_JOB);
    assert_true(world_ops(world, "csv_split") >= 50);
    assert_int_equal(world_ops(world, "csv_read"), world_ops(world, "csv_split"));
    assert_true(4 * world_ops(world, "csv_infer") < world_ops(world, "csv_split"));
}

/* Positions of columns whose dtypes are given go with the question for types. */
static void
given_dtypes_are_not_asked_for(void **state)
{
    struct world *world = *state;
    struct gr_plan_batch batch;
    const Granary__ChunkOp *op;
    const Granary__Attr *known;

    write_rows(world, 20);
    assert_int_equal(world_plan(world, "{\"nodes\": {\"t\": {\"op\": \"read_csv\", \"path\": \"t.csv\", "
                                       "\"dtypes\": {\"v\": \"float64\", \"rest\": \"string\"}}}, \"targets\": \"t\"}"),
                     GRANARY_OK);
    assert_int_equal(world_advance(world, &batch), GRANARY_OK);
    op = batch.subtasks[0].subtask->ops[0];
    assert_string_equal(op->op, "csv_infer");
    known = gr_attr_find(op->attrs, op->n_attrs, "known");
    assert_non_null(known);
    assert_int_equal(known->n_ints, 2);
    assert_int_equal(known->ints[0], 1);
    assert_int_equal(known->ints[1], 2);
    gr_plan_batch_free(&batch);
}

/* Only the columns that are needed are read. */
static void
columns_nobody_needs_are_not_read(void **state)
{
    struct world *world = *state;
    struct gr_plan_batch batch;
    bool seen = false;

    write_rows(world, 20);
    assert_int_equal(world_plan(world, MAIN_JOB), GRANARY_OK);
    world->options.chunk_bytes = 0;
    while (!gr_plan_complete(world->plan)) {
        assert_int_equal(world_advance(world, &batch), GRANARY_OK);
        for (size_t i = 0; i < batch.count; i++) {
            const Granary__ChunkOp *op = batch.subtasks[i].subtask->ops[0];

            if (strcmp(op->op, "csv_read") == 0) {
                const Granary__Attr *columns = gr_attr_find(op->attrs, op->n_attrs, "columns");
                const Granary__Attr *positions = gr_attr_find(op->attrs, op->n_attrs, "positions");
                const Granary__Attr *dtypes = gr_attr_find(op->attrs, op->n_attrs, "dtypes");

                assert_int_equal(columns->n_strings, 2);
                assert_string_equal(columns->strings[0], "k");
                assert_string_equal(columns->strings[1], "v");
                assert_int_equal(positions->ints[1], 1);
                assert_string_equal(dtypes->strings[0], "string");
                assert_string_equal(dtypes->strings[1], "int64");
                assert_int_equal(gr_attr_int(op->attrs, op->n_attrs, "fields", 0), 3);
                assert_int_equal(gr_attr_int(op->attrs, op->n_attrs, "line", 0), 1);
                assert_true(GR_CHUNK_PARAMS(csv_read, op->attrs, op->n_attrs)->header);
                seen = true;
            } else {
                Granary__CsvTypes types = GRANARY__CSV_TYPES__INIT;
                uint32_t kinds[] = {64, 4, 64};
                ProtobufCBinaryData names[] = {{1, (uint8_t *)"k"}, {1, (uint8_t *)"v"}, {4, (uint8_t *)"rest"}};
                Granary__Done done = GRANARY__DONE__INIT;
                uint8_t bytes[200];
                ProtobufCBinaryData answer = {0, bytes};

                types.n_kinds = types.n_names = types.fields = 3;
                types.kinds = kinds;
                types.names = names;
                types.records = 20;
                types.first_record_line = 1;
                answer.len = granary__csv_types__pack(&types, bytes);
                done.n_inlines = 1;
                done.inlines = &answer;
                assert_int_equal(gr_plan_feed(world->plan, batch.subtasks[i].subtask->number, &done), GRANARY_OK);
                assert_int_equal(gr_plan_feed(world->plan, batch.subtasks[i].subtask->number, &done), GRANARY_OK);
            }
        }
        gr_plan_batch_free(&batch);
    }
    assert_true(seen);
}

static void
a_long_sort_goes_through_pivots(void **state)
{
    struct world *world = *state;
    Granary__Result *result;
    uint64_t chunks;

    write_rows(world, 720);
    world->options.chunk_bytes = 154;
    world->options.memory_bytes = 20000;
    world_must(world, "{\"nodes\": {" T ", \"s\": {\"op\": \"sort\", \"input\": \"t\", \"by\": [\"k\", \"v\"]}},"
                      "\"targets\": \"s\"}");
    chunks = world_ops(world, "csv_read");
    assert_true(chunks >= 50);
    assert_int_equal(world_ops(world, "sort_sample"), chunks);
    assert_int_equal(world_ops(world, "sort_pivots"), 1);
    assert_int_equal(world_ops(world, "sort_split"), chunks);
    assert_true(world_ops(world, "sort") >= 2); /* a part each */
    result = world_result(world, "s");
    assert_int_equal(result->n_chunks, world_ops(world, "sort"));
    granary__result__free_unpacked(result, NULL);
}

static void
heads_read_only_the_chunks_they_need(void **state)
{
    struct world *world = *state;

    write_rows(world, 720);
    world->options.chunk_bytes = 154;
    world_must(world, "{\"nodes\": {" T ", \"h\": {\"op\": \"head\", \"input\": \"t\", \"rows\": 30}},"
                      "\"targets\": \"h\"}");
    assert_true(world_ops(world, "csv_infer") >= 50); /* dtypes are the whole file's */
    assert_in_range(world_ops(world, "csv_read"), 2, 4);
    assert_int_equal(world_ops(world, "concat"), 1);
}

static void
joins_share_one_right_side(void **state)
{
    struct world *world = *state;

    write_rows(world, 720);
    world->options.chunk_bytes = 154;
    world_must(world, "{\"nodes\": {" T ", \"f\": {\"op\": \"filter\", \"input\": \"t\", \"where\": \"v > 3\"},"
                      "\"j\": {\"op\": \"join\", \"inputs\": [\"t\", \"f\"], \"on\": \"k\"},"
                      "\"c\": {\"op\": \"select\", \"input\": \"j\", \"columns\": [\"v_x\", \"k\"]}},"
                      "\"targets\": [\"c\", \"f\"]}");
    assert_int_equal(world_ops(world, "join_build"), 1);
    assert_int_equal(world_ops(world, "join_probe"), world_ops(world, "csv_read"));
    assert_int_equal(world_ops(world, "concat"), 1);
}

/* The same submission has the same ids; another chunk size never reuses them. */
static void
ids_follow_from_the_work(void **state)
{
    struct world *world = *state;
    uint8_t ids[3][16];
    static const int64_t sizes[] = {154, 154, 0};

    write_rows(world, 720);
    for (int i = 0; i < 3; i++) {
        Granary__Result *result;

        world->options.chunk_bytes = sizes[i];
        world_must(world, MAIN_JOB);
        result = world_result(world, "h");
        memcpy(ids[i], result->chunks[0]->id.data, 16);
        granary__result__free_unpacked(result, NULL);
        world_reset(world);
    }
    assert_memory_equal(ids[0], ids[1], 16);
    assert_memory_not_equal(ids[0], ids[2], 16);
}

static void
automatic_chunks_fit_slots_and_memory(void **state)
{
    struct world *world = *state;
    struct gr_buf text = {0};

    gr_buf_addf(&text, "a\n");
    while (text.size < 6 << 20) {
        gr_buf_addf(&text, "%062d\n", 0);
    }
    world_file(world, "t.csv", text.bytes);
    gr_buf_free(&text);
    world_must(world, "{\"nodes\": {" T "}}"); /* 6 MiB, 2 slots: at least 1 MiB */
    assert_int_equal(world_ops(world, "csv_split"), 7);
    world_reset(world);
    world->options.memory_bytes = 8 << 20; /* a sixteenth of it */
    world_must(world, "{\"nodes\": {" T "}}");
    assert_int_equal(world_ops(world, "csv_split"), 13);
}

static void
frames_without_a_header_have_numbered_columns(void **state)
{
    struct world *world = *state;

    world_file(world, "t.csv", "1;x\n2;y\n");
    world_must(world, "{\"nodes\": {\"t\": {\"op\": \"read_csv\", \"path\": \"t.csv\", \"header\": false,"
                      " \"delimiter\": \";\"}, \"s\": {\"op\": \"select\", \"input\": \"t\", \"columns\": \"c1\"}},"
                      " \"targets\": \"s\"}");
    assert_int_equal(world->subtasks, 2);
}

/* ---- null ---- */

static Granary__Graph *
null_graph(size_t count, size_t inputs_each)
{
    Granary__Graph *graph = malloc(sizeof *graph);

    granary__graph__init(graph);
    graph->nodes = calloc(count, sizeof *graph->nodes);
    graph->targets = calloc(count, sizeof *graph->targets);
    for (size_t i = 0; i < count; i++) {
        Granary__Node *node = malloc(sizeof *node);
        char name[32];

        granary__node__init(node);
        (void)snprintf(name, sizeof name, "n%zu", i);
        node->name = strdup(name);
        node->op = strdup("null");
        node->inputs = calloc(inputs_each + 1, sizeof *node->inputs);
        for (size_t k = 1; k <= inputs_each && k <= i; k++) {
            (void)snprintf(name, sizeof name, "n%zu", i - k);
            node->inputs[node->n_inputs++] = strdup(name);
        }
        graph->nodes[graph->n_nodes++] = node;
    }
    for (size_t i = inputs_each > 0 ? count - 1 : 0; i < count; i++) {
        graph->targets[graph->n_targets++] = strdup(graph->nodes[i]->name);
    }
    return graph;
}

/* All subtasks of a graph of nulls come at once and in order. */
static void
plan_nulls(struct world *world, size_t count, size_t inputs_each, size_t *ret_afters)
{
    Granary__Graph *graph = null_graph(count, inputs_each);
    struct gr_plan_batch batch;

    *ret_afters = 0;
    assert_int_equal(gr_plan_create(graph, &world->options, &world->plan), GRANARY_OK);
    assert_int_equal(world_advance(world, &batch), GRANARY_OK);
    assert_int_equal(batch.count, count);
    assert_true(gr_plan_complete(world->plan));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(batch.subtasks[i].subtask->number, i);
        assert_int_equal(batch.subtasks[i].subtask->n_ops, 1);
        *ret_afters += batch.subtasks[i].after_count;
        for (size_t k = 0; k < batch.subtasks[i].after_count; k++) {
            assert_true(batch.subtasks[i].after[k] < i);
        }
    }
    gr_plan_batch_free(&batch);
    world_reset(world);
}

/* A cost that grows with the square of the nodes would show as a test that does not end. */
static void
a_million_nulls_are_planned(void **state)
{
    struct world *world = *state;
    size_t afters;

    plan_nulls(world, 1000000, 0, &afters);
    assert_int_equal(afters, 0);
    plan_nulls(world, 100000, 1, &afters); /* a chain: no recursion */
    assert_int_equal(afters, 99999);
    plan_nulls(world, 2000, 64, &afters);
    assert_int_equal(afters, 64 * (2000 - 64) + 63 * 64 / 2);
}

static void
a_null_waits_for_frames_and_tensors(void **state)
{
    struct world *world = *state;

    write_rows(world, 100);
    world->options.chunk_bytes = 300;
    world_must(world, "{\"nodes\": {" T ", \"a\": {\"op\": \"arange\", \"stop\": 100, \"chunk\": 10},"
                      "\"n\": {\"op\": \"null\", \"inputs\": [\"t\", \"a\"]}}, \"targets\": \"n\"}");
    assert_int_equal(world->afters, world_ops(world, "csv_read") + 10);
    assert_int_equal(world->object_count, 0); /* nobody reads them */
}

/* ---- tensors ---- */

static void
assert_splits(const struct world *world, const char *target, int64_t rows, int64_t columns)
{
    Granary__Result *result = world_result(world, target);

    assert_true(result->is_tensor);
    assert_int_equal(result->n_splits, 2);
    assert_int_equal(result->splits[0], rows);
    assert_int_equal(result->splits[1], columns);
    assert_int_equal(result->n_chunks, rows * columns);
    granary__result__free_unpacked(result, NULL);
}

static void
tensors_are_cut_as_asked_or_by_size(void **state)
{
    struct world *world = *state;

    world_must(world, "{\"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [100, 70], \"chunk\": [30, 70]},"
                      "\"b\": {\"op\": \"random\", \"shape\": [4096, 4096]}}, \"targets\": [\"a\", \"b\"]}");
    assert_splits(world, "a", 4, 1);
    assert_splits(world, "b", 4, 4); /* 8 MiB each */
    world_reset(world);
    world->options.memory_bytes = 32 << 20; /* a sixteenth: 2 MiB each */
    world_must(world, "{\"nodes\": {\"b\": {\"op\": \"random\", \"shape\": [4096, 4096]}}}");
    assert_splits(world, "b", 8, 8);
}

static void
operands_cut_differently_are_reassembled(void **state)
{
    struct world *world = *state;

    world_must(world, "{\"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [60, 60], \"chunk\": [30, 20]},"
                      "\"b\": {\"op\": \"random\", \"shape\": [60, 60], \"chunk\": [20, 30]},"
                      "\"c\": {\"op\": \"add\", \"inputs\": [\"a\", \"b\"]}}, \"targets\": \"c\"}");
    assert_splits(world, "c", 2, 3);
    assert_int_equal(world_ops(world, "assemble"), 6);
    world_reset(world);
    world_must(world,
               "{\"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [60, 60], \"chunk\": [30, 20]},"
               "\"b\": {\"op\": \"exp\", \"input\": \"a\"}, \"d\": {\"op\": \"multiply\", \"inputs\": [\"a\", \"b\"]},"
               "\"s\": {\"op\": \"sum\", \"input\": \"d\"}}, \"targets\": \"s\"}");
    assert_int_equal(world_ops(world, "assemble"), 0);
    assert_int_equal(world->subtasks, 7); /* random to reduce_map are one each; and the end */
    assert_int_equal(world->object_count, 7);
}

/* A row against a column: the result's blocks are kept in bounds though the operands' are long. */
static void
broadcasting_does_not_make_huge_blocks(void **state)
{
    struct world *world = *state;

    world_must(world, "{\"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [100000, 1]},"
                      "\"b\": {\"op\": \"random\", \"shape\": [100000]},"
                      "\"c\": {\"op\": \"add\", \"inputs\": [\"a\", \"b\"]},"
                      "\"s\": {\"op\": \"sum\", \"input\": \"c\"}}, \"targets\": \"s\"}");
    assert_true(world_ops(world, "reduce_map") >= 9537); /* 10^10 elements in blocks of 8 MiB */
}

/* Rows by strips of 512 beside a right side that is whole; blocks of a long inner dimension, and a tree of their sums. */
static void
tall_products_are_cut_by_shape(void **state)
{
    struct world *world = *state;

    world_must(world, "{\"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [3000, 30], \"chunk\": [700, 7]},"
                      "\"b\": {\"op\": \"random\", \"shape\": [30, 20], \"chunk\": [4, 3]},"
                      "\"c\": {\"op\": \"matmul\", \"inputs\": [\"a\", \"b\"]}}, \"targets\": \"c\"}");
    assert_splits(world, "c", 3, 1);
    assert_int_equal(world_ops(world, "matmul"), 3); /* 1024 rows each */
    world_reset(world);
    world_must(world, "{\"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [30, 100000], \"chunk\": [7, 7000]},"
                      "\"b\": {\"op\": \"random\", \"shape\": [100000, 20], \"chunk\": [999, 3]},"
                      "\"c\": {\"op\": \"matmul\", \"inputs\": [\"a\", \"b\"]}}, \"targets\": \"c\"}");
    assert_splits(world, "c", 1, 1);
    assert_int_equal(world_ops(world, "matmul"), 4); /* 32768 columns each */
    assert_int_equal(world_ops(world, "map"), 3);
}

static void
a_product_reads_no_more_than_fits(void **state)
{
    struct world *world = *state;

    world_must(world, "{\"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [64, 64], \"chunk\": [16, 8]},"
                      "\"b\": {\"op\": \"random\", \"shape\": [64, 5000], \"chunk\": [16, 2500]},"
                      "\"c\": {\"op\": \"matmul\", \"inputs\": [\"a\", \"b\"]}}, \"targets\": \"c\"}");
    assert_splits(world, "c", 1, 1); /* whatever chunks are */
    assert_int_equal(world_ops(world, "matmul"), 1);
    assert_int_equal(world_ops(world, "assemble"), 2);
    world_reset(world);
    world->options.memory_bytes = 1600000; /* a pair of blocks has 161024 bytes */
    world_must(world, "{\"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [64, 64], \"chunk\": [16, 8]},"
                      "\"b\": {\"op\": \"random\", \"shape\": [64, 5000], \"chunk\": [16, 2500]},"
                      "\"c\": {\"op\": \"matmul\", \"inputs\": [\"a\", \"b\"]}}, \"targets\": \"c\"}");
    assert_splits(world, "c", 4, 2); /* no block of a million elements fits */
    assert_int_equal(world_ops(world, "matmul"), 8 * 4);
    assert_int_equal(world_ops(world, "map"), 0); /* each goes on with the sum of the one before */
}

static void
tensors_of_no_elements_have_one_chunk(void **state)
{
    struct world *world = *state;

    world_must(world, "{\"nodes\": {\"a\": {\"op\": \"arange\", \"stop\": 0},"
                      "\"b\": {\"op\": \"negative\", \"input\": \"a\"}, \"s\": {\"op\": \"sum\", \"input\": \"b\"}},"
                      "\"targets\": [\"b\", \"s\"]}");
    assert_int_equal(world_ops(world, "arange"), 1);
    assert_int_equal(world_ops(world, "map"), 1);
    assert_int_equal(world_ops(world, "reduce_final"), 1);
}

/* ---- text ---- */

static void
explain_tells_the_whole_plan(void **state)
{
    struct world *world = *state;
    struct gr_buf text = {0};
    static const char *const parts[] = {
        ("graph (* is a target)\n  t = read_csv() path=t.csv\n  g = groupby(t) keys=[k] aggregate=[n: size, total: "
         "sum(v)]\n"
         "  s = sort(g) by=[total] descending=[true]\n  h * = head(s) rows=10\n"),
        ("rules that fired\n  head-into-sort: 's' keeps only the first 10 rows, for 'h'\n"
         "  dead-node: 's' (sort) is needed by no target\n"
         "  prune-columns: 't' reads 2 of 3 columns\n"),
        ("after optimisation\n  t = read_csv() path=t.csv  -> 2 of 3 columns: k, v\n"
         "  g = groupby(t) keys=[k] aggregate=[n: size, total: sum(v)]\n"
         "  h * (s) = sort(g) by=[total] descending=[true] limit=10\n"),
        "chunks\n  t (read_csv): 1\n  g (groupby): 1\n  h (sort): 1\n",
        ("subtasks: 2 (#n: operator n of the same subtask; else an object)\n  0: csv_infer()\n"
         "  1: csv_read(); groupby_map(#0); groupby_final(#1); sort(#2) -> "),
    };
    size_t at = 0;

    write_rows(world, 20);
    assert_int_equal(world_plan(world, MAIN_JOB), GRANARY_OK);
    gr_plan_explain(world->plan, &text); /* before the file is known, too */
    assert_non_null(strstr(text.bytes, "being looked at for types"));
    gr_buf_free(&text);
    assert_int_equal(world_run(world), GRANARY_OK);
    gr_plan_explain(world->plan, &text);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *found = strstr(text.bytes + at, parts[i]);

        if (found == NULL) {
            fail_msg("no '%s' in '%s'", parts[i], text.bytes + at);
        }
        at = (size_t)(found - text.bytes) + strlen(parts[i]);
    }
    gr_buf_free(&text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_small_file_takes_two_subtasks, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(sixty_chunks_are_read_grouped_and_merged, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(types_told_with_the_split_are_taken, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(given_dtypes_are_not_asked_for, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(columns_nobody_needs_are_not_read, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(a_long_sort_goes_through_pivots, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(heads_read_only_the_chunks_they_need, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(joins_share_one_right_side, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(ids_follow_from_the_work, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(automatic_chunks_fit_slots_and_memory, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(frames_without_a_header_have_numbered_columns, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(a_million_nulls_are_planned, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(a_null_waits_for_frames_and_tensors, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(tensors_are_cut_as_asked_or_by_size, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(operands_cut_differently_are_reassembled, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(broadcasting_does_not_make_huge_blocks, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(tall_products_are_cut_by_shape, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(a_product_reads_no_more_than_fits, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(tensors_of_no_elements_have_one_chunk, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(explain_tells_the_whole_plan, world_setup, world_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
