/* Whole plans on the real kernels: whatever the chunking, a target is the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "data/frame.h"
#include "optimize/optimize.h"
#include "optimized.h"
#include "random_graph.h"
#include "runner.h"
#include "world.h"

/* Run a graph with every chunk size and compare the target's text; *ret_text is that of one chunk. */
static char *
same_for_all_chunks(struct world *world, const char *json, const char *target)
{
    static const int64_t sizes[] = {1 << 30, 1, 7, 40, 64, 100, 257, 1000, 4000};
    char *text = NULL;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *again;

        world->options.chunk_bytes = sizes[i];
        world_must(world, json);
        again = runner_text(world, target);
        if (text != NULL) {
            assert_string_equal(again, text);
            free(again);
        } else {
            text = again;
        }
        runner_reset(world);
    }
    return text;
}

static int
setup(void **state)
{
    struct world *world = malloc(sizeof *world);

    world_init(world);
    runner_init(world);
    *state = world;
    return 0;
}

static int
teardown(void **state)
{
    struct world *world = *state;

    runner_fini(world);
    world_fini(world);
    free(world);
    return 0;
}

/* A file with everything that makes cutting hard. */
static void
write_rows(struct world *world, int rows)
{
    struct gr_buf text = {0};
    unsigned seed = 7;

    gr_buf_addf(&text, "\r\nname,\"g\nroup\",n,x,day\r\n");
    for (int i = 0; i < rows; i++) {
        int n = rand_r(&seed) % 50;

        gr_buf_addf(&text, "\"r,%d\"\"\n%s\",g%d,", i, i % 5 == 0 ? "a\r\nb" : "", n % 7);
        if (n % 11 == 0) {
            gr_buf_addf(&text, "\\N,,1990-01-%02d%s", n % 28 + 1, i % 3 == 0 ? "\r\n" : "\n");
        } else {
            gr_buf_addf(&text, "%d,%d.%d,1990-01-%02d%s", n, n, i % 10, n % 28 + 1, i % 4 == 0 ? "\r\n\r\n" : "\n");
        }
    }
    world_file(world, "rows.csv", text.bytes);
    gr_buf_free(&text);
}

static size_t
count_lines(const char *text)
{
    size_t lines = 0;

    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static void
read_is_the_same_for_all_chunks(void **state)
{
    struct world *world = *state;
    char *text;

    write_rows(world, 150);
    text = same_for_all_chunks(world, "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"rows.csv\"}}}", "r");
    assert_non_null(strstr(text, "name:string g\nroup:string n:int64 x:float64 day:date"));
    assert_non_null(strstr(text, "|r,149\"\n"));
    free(text);
}

static void
groupby_sort_head_is_the_same_for_all_chunks(void **state)
{
    struct world *world = *state;
    char *text;

    write_rows(world, 200);
    text = same_for_all_chunks(
        world,
        "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"rows.csv\"},"
        "\"f\": {\"op\": \"filter\", \"input\": \"r\", \"where\": \"n > 3\"},"
        "\"a\": {\"op\": \"assign\", \"input\": \"f\", \"columns\": {\"y\": \"x * 2 + n\", \"unused\": \"n + 1\"}},"
        "\"g\": {\"op\": \"groupby\", \"input\": \"a\", \"keys\": [\"g\\nroup\"],"
        "  \"aggregate\": {\"rows\": \"size\", \"total\": \"sum(y)\", \"mean\": \"mean(x)\", \"last\": \"max(day)\","
        "  \"many\": \"nunique(n)\"}},"
        "\"s\": {\"op\": \"sort\", \"input\": \"g\", \"by\": [\"total\"], \"descending\": true},"
        "\"h\": {\"op\": \"head\", \"input\": \"s\", \"rows\": 3}}, \"targets\": [\"h\"]}",
        "h");
    assert_int_equal(count_lines(text), 1 + 3 + 1); /* names have a line feed in them */
    free(text);
}

static void
sort_is_stable_for_all_chunks(void **state)
{
    struct world *world = *state;
    char *text;
    char *limited;

    write_rows(world, 120);
    text = same_for_all_chunks(world,
                               "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"rows.csv\"},"
                               "\"s\": {\"op\": \"sort\", \"input\": \"r\", \"by\": [\"g\\nroup\", \"n\"],"
                               " \"descending\": [true, false]}}, \"targets\": [\"s\"]}",
                               "s");
    limited = same_for_all_chunks(world,
                                  "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"rows.csv\"},"
                                  "\"s\": {\"op\": \"sort\", \"input\": \"r\", \"by\": [\"g\\nroup\", \"n\"],"
                                  " \"descending\": [true, false]},"
                                  "\"h\": {\"op\": \"head\", \"input\": \"s\", \"rows\": 20}}, \"targets\": [\"h\"]}",
                                  "h");
    /* the rule that limits a sort gives the first rows of the whole one */
    assert_memory_equal(text, limited, strlen(limited));
    free(text);
    free(limited);
}

static void
join_is_the_same_for_all_chunks(void **state)
{
    struct world *world = *state;
    char *text;

    write_rows(world, 80);
    world_file(world, "groups.csv", "key,n,label\ng1,1,one\ng3,3,three\ng1,10,uno\n,0,null\ng9,9,nine\n");
    text = same_for_all_chunks(
        world,
        "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"rows.csv\"},"
        "\"k\": {\"op\": \"read_csv\", \"path\": \"groups.csv\"},"
        "\"j\": {\"op\": \"join\", \"inputs\": [\"r\", \"k\"], \"left_on\": \"g\\nroup\", \"right_on\": \"key\","
        " \"how\": \"left\"},"
        "\"p\": {\"op\": \"select\", \"input\": \"j\", \"columns\": [\"label\", \"n_y\", \"day\"]}},"
        "\"targets\": [\"p\"]}",
        "p");
    assert_non_null(strstr(text, "label:string n_y:int64 day:date"));
    assert_non_null(strstr(text, "|uno|10|"));
    assert_non_null(strstr(text, "|null|null|"));
    free(text);
}

static void
head_is_the_same_for_all_chunks(void **state)
{
    static const int rows[] = {0, 1, 17, 59, 60, 61, 1000};
    struct world *world = *state;

    write_rows(world, 60);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char json[1000];
        char *text;

        (void)snprintf(json, sizeof json,
                       "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"rows.csv\"},"
                       "\"a\": {\"op\": \"assign\", \"input\": \"r\", \"columns\": {\"m\": \"n * 2\"}},"
                       "\"b\": {\"op\": \"select\", \"input\": \"a\", \"columns\": [\"m\", \"n\"]},"
                       "\"h\": {\"op\": \"head\", \"input\": \"b\", \"rows\": %d}}, \"targets\": [\"h\"]}",
                       rows[i]);
        text = same_for_all_chunks(world, json, "h");
        assert_int_equal(count_lines(text), 1 + (rows[i] < 60 ? rows[i] : 60));
        free(text);
        (void)snprintf(json, sizeof json,
                       "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"rows.csv\"},"
                       "\"f\": {\"op\": \"filter\", \"input\": \"r\", \"where\": \"n is not null\"},"
                       "\"h\": {\"op\": \"head\", \"input\": \"f\", \"rows\": %d},"
                       "\"s\": {\"op\": \"select\", \"input\": \"h\", \"columns\": [\"n\"]}}, \"targets\": [\"s\"]}",
                       rows[i]);
        text = same_for_all_chunks(world, json, "s");
        free(text);
    }
}

static void
a_header_alone_is_a_frame_without_rows(void **state)
{
    struct world *world = *state;
    char *text;

    world_file(world, "header.csv", "a,b\n");
    text = same_for_all_chunks(world,
                               "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"header.csv\"},"
                               "\"g\": {\"op\": \"groupby\", \"input\": \"r\", \"keys\": [\"a\"], \"aggregate\":"
                               " {\"n\": \"count(b)\"}}, \"s\": {\"op\": \"sort\", \"input\": \"g\", \"by\": \"n\"}},"
                               "\"targets\": [\"s\"]}",
                               "s");
    assert_string_equal(text, "a:string n:int64 \n");
    free(text);
}

/* Another file line than the first tells where, whatever the chunking. */
static void
bad_records_are_named_alike_for_all_chunks(void **state)
{
    static const int64_t sizes[] = {1 << 20, 1, 5, 16, 33};
    struct world *world = *state;

    world_file(world, "bad.csv", "a,b\n1,\"x\n\ny\"\n2,z\n3\n4,5,6\n");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        world->options.chunk_bytes = sizes[i];
        assert_int_equal(world_plan(world, "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"bad.csv\"}}}"),
                         GRANARY_OK);
        assert_int_equal(world_run(world), GRANARY_EINVAL);
        assert_non_null(
            strstr(granary_error_message(), "node 'r': bad.csv:6: record has 1 field, expected 2; `ragged`"));
        runner_reset(world);
    }
}

/* ---- steps that ask what their inputs have become ---- */

/* Two sorts that must know how much the filters leave; what is behind one of them is planned last. */
#define ASKING                                                                                                         \
    "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"rows.csv\"},"                                              \
    "\"f\": {\"op\": \"filter\", \"input\": \"r\", \"where\": \"n > 3\"},"                                             \
    "\"few\": {\"op\": \"filter\", \"input\": \"r\", \"where\": \"n = 5\"},"                                           \
    "\"s\": {\"op\": \"sort\", \"input\": \"f\", \"by\": [\"n\", \"x\"]},"                                             \
    "\"t\": {\"op\": \"sort\", \"input\": \"few\", \"by\": [\"name\"]},"                                               \
    "\"u\": {\"op\": \"select\", \"input\": \"s\", \"columns\": [\"n\"]},"                                             \
    "\"g\": {\"op\": \"groupby\", \"input\": \"t\", \"keys\": [\"day\"], \"aggregate\": {\"c\": \"count(n)\"}},"       \
    "\"p\": {\"op\": \"null\", \"inputs\": [\"s\", \"r\"]}}, \"targets\": [\"s\", \"g\", \"u\", \"few\", \"p\"]}"

/* Everything that was made, in order. */
static char *
ids_of(const struct world *world)
{
    struct gr_buf text = {0};

    for (size_t i = 0; i < world->object_count; i++) {
        char id[GRANARY_ID_TEXT + 1];

        granary_id_format(world->objects[i].id, id);
        gr_buf_addf(&text, "%llu %s\n", (unsigned long long)world->objects[i].maker, id);
    }
    return gr_buf_take(&text);
}

static void
steps_wait_for_what_they_ask(void **state)
{
    struct world *world = *state;
    char *all;
    char *counts;
    char *few;

    write_rows(world, 200);
    all = same_for_all_chunks(world, ASKING, "s");
    counts = same_for_all_chunks(world, ASKING, "g");
    few = same_for_all_chunks(world, ASKING, "few");
    world->options.chunk_bytes = 500;
    world_must(world, ASKING);
    assert_true(world_ops(world, "info") > 10);
    assert_int_equal(world->held_count, 0); /* all were settled */
    /* few rows were left for t: they are merged, not cut into parts; s is cut */
    assert_int_equal(world_ops(world, "sort_pivots"), 1);
    free(few);
    free(counts);
    free(all);
}

static void
ids_and_numbers_do_not_depend_on_when_answers_come(void **state)
{
    struct world *world = *state;
    char *early;
    char *late;

    write_rows(world, 200);
    world->options.chunk_bytes = 500;
    world_must(world, ASKING);
    early = ids_of(world);
    runner_reset(world);
    world->late = true;
    world_must(world, ASKING);
    late = ids_of(world);
    assert_string_equal(early, late);
    free(early);
    free(late);
}

static void
answers_that_are_none_fail(void **state)
{
    struct world *world = *state;
    uint8_t garbage[] = {0xff, 0xff, 0xff};
    uint8_t none[] = {0x0a, 0x00, 0x0a, 0x00}; /* two entries where one is wanted */
    ProtobufCBinaryData answers[] = {{sizeof garbage, garbage}, {sizeof none, none}, {0, NULL}};

    write_rows(world, 200);
    for (size_t i = 0; i < 3; i++) {
        Granary__Done done = GRANARY__DONE__INIT;
        struct gr_plan_batch batch;
        size_t asked = SIZE_MAX;

        world->options.chunk_bytes = 500;
        assert_int_equal(world_plan(world, ASKING), GRANARY_OK);
        for (int stage = 0; stage < 3; stage++) { /* the file's two first */
            assert_int_equal(world_advance(world, &batch), GRANARY_OK);
            assert_true(batch.count > 0);
            for (size_t s = 0; s < batch.count && stage < 2; s++) {
                Granary__Done *answer = malloc(sizeof *answer);

                granary__done__init(answer);
                runner_run(world, batch.subtasks[s].subtask, answer);
                assert_int_equal(gr_plan_feed(world->plan, batch.subtasks[s].subtask->number, answer), GRANARY_OK);
                granary__done__free_unpacked(answer, NULL);
            }
            if (stage < 2) {
                gr_plan_batch_free(&batch);
            }
        }
        for (size_t s = 0; s < batch.count && asked == SIZE_MAX; s++) {
            asked = batch.subtasks[s].feeds ? s : SIZE_MAX;
        }
        assert_int_not_equal(asked, SIZE_MAX);
        done.number = batch.subtasks[asked].subtask->number;
        done.inlines = &answers[i];
        done.n_inlines = 1;
        assert_int_equal(gr_plan_feed(world->plan, done.number, &done), GRANARY_EPROTO);
        assert_non_null(strstr(granary_error_message(), "info: an answer that is none"));
        gr_plan_batch_free(&batch);
        runner_reset(world);
    }
}

/* ---- any pipeline ---- */

#define PIPELINES 150

/* What the rules make of the graph that has run, in its place, run. */
static void
run_optimized(struct world *world, const char *json)
{
    char *optimized = world_optimized(world);

    if (optimized == NULL) {
        fail_msg("%s\n%s", granary_error_message(), json);
    }
    runner_reset(world);
    if (world_plan(world, optimized) != GRANARY_OK || world_run(world) != GRANARY_OK) {
        fail_msg("%s\n%s\noptimised:\n%s", granary_error_message(), json, optimized);
    }
    free(optimized);
}

/* The last step's text with a chunk size; all: every step is a target, so that hardly a rule can fire. written: of the
 * graph that rules make of it. */
static char *
pipeline_text(struct world *world, const struct gr_buf *nodes, int steps, bool all, int64_t chunk_bytes, bool written)
{
    struct gr_buf json = {0};
    char last[16];
    char *text;

    (void)snprintf(last, sizeof last, "s%d", steps - 1);
    gr_buf_addf(&json, "{\"nodes\": {%s}, \"targets\": [\"%s\"", nodes->bytes, last);
    for (int i = 0; all && i < steps - 1; i++) {
        gr_buf_addf(&json, ", \"s%d\"", i);
    }
    gr_buf_addf(&json, "%s]}", all ? ", \"rows\", \"groups\"" : "");
    world->options.chunk_bytes = chunk_bytes;
    world->late = !world->late;
    if (world_plan(world, json.bytes) != GRANARY_OK || world_run(world) != GRANARY_OK) {
        fail_msg("%s\n%s", granary_error_message(), json.bytes);
    }
    if (written) {
        run_optimized(world, json.bytes);
    }
    text = runner_text(world, last);
    runner_reset(world);
    gr_buf_free(&json);
    return text;
}

static granary_err
find_compute(void *context, const char *text, struct gr_function *ret_function)
{
    static const struct gr_function compute = {
        .name = {"lib", "00000000000000000000000000000000", "compute"}, .outputs = 1, .sequence = 1};

    (void)context;
    assert_string_equal(text, "compute");
    *ret_function = compute;
    return GRANARY_OK;
}

/* Neither rules nor chunks change what a target is, nor that a function does what an operator does. */
static void
any_pipeline_is_the_same_with_and_without_rules(void **state)
{
    static const int64_t sizes[] = {1 << 30, 300, 2000};
    struct world *world = *state;
    struct gr_buf rows = {0};
    unsigned seed = 1;

    world->options.find_function = find_compute;
    gr_buf_addf(&rows, "name,g,n,x\n");
    for (int i = 0; i < 150; i++) {
        gr_buf_addf(&rows, "name%d,g%d,%d,%d.5\n", i % 40, i * 7 % 11, i * 13 % 29, i * 5 % 17);
    }
    world_file(world, "rows.csv", rows.bytes);
    world_file(world, "groups.csv", "g,label\ng1,one\ng3,three\ng3,drei\ng10,ten\ng50,none\n");
    gr_buf_free(&rows);
    for (int p = 0; p < PIPELINES; p++) {
        struct gr_buf plain_nodes = {0};
        struct gr_buf nodes = {0};
        unsigned again = seed;
        int steps = random_pipeline(&again, false, &plain_nodes);
        char *plain = pipeline_text(world, &plain_nodes, steps, true, sizes[0], false);

        (void)random_pipeline(&seed, true, &nodes);
        for (size_t i = 0; i <= sizeof sizes / sizeof sizes[0]; i++) { /* once more, as the rules write it */
            bool written = i == sizeof sizes / sizeof sizes[0];
            char *text = pipeline_text(world, &nodes, steps, false, sizes[written ? 1 : i], written);

            if (strcmp(text, plain) != 0) {
                fail_msg("%s\nwith rules, %s %zu:\n%s\nwithout:\n%s", nodes.bytes,
                         written ? "written as a graph" : "chunk size", i, text, plain);
            }
            free(text);
        }
        free(plain);
        gr_buf_free(&nodes);
        gr_buf_free(&plain_nodes);
    }
}

/* ---- each rule ---- */

#define DOUBLED 25

/* The nodes of a pipeline and, but for the files, all of them again under other names; c: both results. */
static void
double_pipeline(const struct gr_buf *nodes, int steps, struct gr_buf *out)
{
    const char *again = strstr(nodes->bytes, ", \"s0\"");

    gr_buf_addf(out, "{\"nodes\": {%s", nodes->bytes);
    for (; *again != '\0'; again++) {
        bool is_name = again[0] == 's' && again[-1] == '"' && again[1] >= '0' && again[1] <= '9';

        gr_buf_addf(out, "%c", is_name ? 'z' : again[0]);
    }
    gr_buf_addf(out, ", \"c\": {\"op\": \"concat\", \"inputs\": [\"s%d\", \"z%d\"]}}, \"targets\": [\"c\"]}", steps - 1,
                steps - 1);
}

static void
every_rule_can_be_left_out(void **state)
{
    struct world *world = *state;
    struct gr_buf rows = {0};
    unsigned seed = 77;

    gr_buf_addf(&rows, "name,g,n,x\n");
    for (int i = 0; i < 60; i++) {
        gr_buf_addf(&rows, "name%d,g%d,%d,%d.5\n", i % 40, i * 7 % 11, i * 13 % 29, i * 5 % 17);
    }
    world_file(world, "rows.csv", rows.bytes);
    world_file(world, "groups.csv", "g,label\ng1,one\ng3,three\ng3,drei\ng10,ten\ng50,none\n");
    gr_buf_free(&rows);
    world->options.chunk_bytes = 300;
    for (int p = 0; p < DOUBLED; p++) {
        struct gr_buf nodes = {0};
        struct gr_buf json = {0};
        char *plain = NULL;

        double_pipeline(&nodes, random_pipeline(&seed, false, &nodes), &json);
        for (int rule = -2; rule < GR_RULE_COUNT; rule++) { /* without any, with all, without one */
            char *text;

            world->options.without_rules = rule == -2 ? UINT32_MAX : rule == -1 ? 0 : UINT32_C(1) << rule;
            if (world_plan(world, json.bytes) != GRANARY_OK || world_run(world) != GRANARY_OK) {
                fail_msg("without rule %d: %s\n%s", rule, granary_error_message(), json.bytes);
            }
            text = runner_text(world, "c");
            runner_reset(world);
            if (plain == NULL) {
                plain = text;
                continue;
            }
            if (strcmp(text, plain) != 0) {
                fail_msg("%s\nwithout rule %d:\n%s\nwithout any:\n%s", json.bytes, rule, text, plain);
            }
            free(text);
        }
        free(plain);
        gr_buf_free(&json);
        gr_buf_free(&nodes);
    }
}

/* ---- real data ---- */

#define STRIKES "\"t\": {\"op\": \"read_csv\", \"path\": \"%s/libclient/examples/data/birdstrikes.csv\"}"

/* The first lines of target h, behind the names. */
static void
assert_lines(struct world *world, const char *nodes, const char *first_lines)
{
    static const int64_t sizes[] = {1 << 30, 23000, 9000};
    char json[2000];

    (void)snprintf(json, sizeof json, nodes, getenv("GRANARY_SOURCE"));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *text;

        world->options.chunk_bytes = sizes[i];
        world->options.memory_bytes = i == 2 ? 1 << 20 : 0;
        world_must(world, json);
        text = runner_text(world, "h");
        if (strncmp(strchr(text, '\n') + 1, first_lines, strlen(first_lines)) != 0) {
            fail_msg("%s", text);
        }
        free(text);
        runner_reset(world);
    }
}

static void
birdstrikes_cost_what_they_cost(void **state)
{
    struct world *world = *state;

    if (getenv("GRANARY_SOURCE") == NULL) {
        skip();
    }
    assert_lines(world,
                 "{\"nodes\": {" STRIKES ", \"g\": {\"op\": \"groupby\", \"input\": \"t\","
                 "\"keys\": \"Wildlife Species\", \"aggregate\": {\"n\": \"size\", \"total\": \"sum(Cost Total $)\"}},"
                 "\"s\": {\"op\": \"sort\", \"input\": \"g\", \"by\": \"total\", \"descending\": true},"
                 "\"h\": {\"op\": \"head\", \"input\": \"s\", \"rows\": 10}}, \"targets\": \"h\"}",
                 "|Canada goose|190|15389869\n|Unknown bird - large|436|10359212\n");
    assert_lines(world,
                 "{\"nodes\": {" STRIKES ", \"f\": {\"op\": \"filter\", \"input\": \"t\","
                 "\"where\": \"`Effect Amount of damage` <> 'None'\"},"
                 "\"g\": {\"op\": \"groupby\", \"input\": \"f\", \"keys\": \"Phase of flight\", \"aggregate\":"
                 "{\"n\": \"size\", \"total\": \"sum(Cost Total $)\", \"max\": \"max(Cost Total $)\"}},"
                 "\"h\": {\"op\": \"sort\", \"input\": \"g\", \"by\": \"total\", \"descending\": true}},"
                 "\"targets\": \"h\"}",
                 "|Climb|318|16764772|7043545\n|Approach|409|10475657|3644483\n");
}

/* ---- tensors ---- */

static const struct gr_tensor *
piece_of(struct world *world, const Granary__Result *result, size_t n)
{
    struct world_object *object = world_find(world, result->chunks[n]->id.data);

    assert_non_null(object);
    return &((struct gr_value *)object->value)->tensor;
}

/* All elements of a target of at most 2 dimensions, row-major, as doubles. */
static double *
tensor_values(struct world *world, const char *target, size_t *ret_count)
{
    Granary__Result *result = world_result(world, target);
    int64_t rows = result->n_shape > 1 ? result->shape[0] : 1;
    int64_t columns = result->n_shape > 0 ? result->shape[result->n_shape - 1] : 1;
    int64_t splits = result->n_shape > 0 ? result->splits[result->n_shape - 1] : 1;
    double *values = calloc((size_t)(rows * columns) + 1, sizeof *values);
    int64_t row = 0;
    int64_t column = 0;

    assert_true(result->is_tensor);
    for (size_t n = 0; n < result->n_chunks; n++) {
        const granary_tensor *t = &piece_of(world, result, n)->view;
        int64_t own_rows = t->dims > 1 ? t->shape[0] : 1;
        int64_t own_columns = t->dims > 0 ? t->shape[t->dims - 1] : 1;

        for (int64_t r = 0; r < own_rows; r++) {
            for (int64_t c = 0; c < own_columns; c++) {
                int64_t at = r * own_columns + c;

                values[(row + r) * columns + column + c] = t->dtype == GRANARY_INT64
                                                               ? (double)((const int64_t *)t->values)[at]
                                                               : ((const double *)t->values)[at];
            }
        }
        column += own_columns;
        if ((n + 1) % (size_t)splits == 0) {
            row += own_rows;
            column = 0;
        }
    }
    *ret_count = (size_t)(rows * columns);
    granary__result__free_unpacked(result, NULL);
    return values;
}

static void
same_tensor_for_all_chunks(struct world *world, const char *json, const char *target, double tolerance)
{
    static const int64_t sizes[] = {1 << 30, 8, 16, 100, 800, 4096};
    double *values = NULL;
    size_t count = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double *again;
        size_t again_count;

        world->options.chunk_bytes = sizes[i];
        world->options.memory_bytes = i % 2 == 0 ? 0 : 4096;
        world_must(world, json);
        again = tensor_values(world, target, &again_count);
        if (values == NULL) {
            values = again;
            count = again_count;
        } else {
            assert_int_equal(again_count, count);
            for (size_t k = 0; k < count; k++) {
                assert_true(again[k] - values[k] <= tolerance && values[k] - again[k] <= tolerance);
            }
            free(again);
        }
        runner_reset(world);
    }
    free(values);
}

static void
tensors_are_the_same_for_all_chunks(void **state)
{
    struct world *world = *state;

    same_tensor_for_all_chunks(world,
                               "{\"nodes\": {\"r\": {\"op\": \"random\", \"shape\": [23, 17], \"seed\": 5},"
                               "\"v\": {\"op\": \"arange\", \"stop\": 17, \"chunk\": 3},"
                               "\"a\": {\"op\": \"add\", \"inputs\": [\"r\", \"v\"]},"
                               "\"e\": {\"op\": \"multiply\", \"input\": \"a\", \"value\": 2}}, \"targets\": [\"e\"]}",
                               "e", 0);
    same_tensor_for_all_chunks(world,
                               "{\"nodes\": {\"r\": {\"op\": \"arange\", \"stop\": 600, \"shape\": [20, 30]},"
                               "\"m\": {\"op\": \"mean\", \"input\": \"r\", \"axes\": [-1]}}, \"targets\": [\"m\"]}",
                               "m", 0);
    same_tensor_for_all_chunks(world,
                               "{\"nodes\": {\"r\": {\"op\": \"random\", \"shape\": [20, 30]},"
                               "\"s\": {\"op\": \"sum\", \"input\": \"r\"}}, \"targets\": [\"s\"]}",
                               "s", 0);
    same_tensor_for_all_chunks(
        world,
        "{\"nodes\": {\"a\": {\"op\": \"arange\", \"stop\": 20, \"shape\": [20, 1], \"chunk\": [7, 1]},"
        "\"b\": {\"op\": \"arange\", \"stop\": 30, \"chunk\": 11},"
        "\"c\": {\"op\": \"subtract\", \"inputs\": [\"a\", \"b\"]}}, \"targets\": [\"c\"]}",
        "c", 0);
}

/* Sums and means go back into the tensor they come from: operands of fewer dimensions, cut by other axes. */
static void
reductions_broadcast_back(void **state)
{
    struct world *world = *state;

    same_tensor_for_all_chunks(
        world,
        "{\"nodes\": {\"r\": {\"op\": \"arange\", \"stop\": 391, \"shape\": [23, 17]},"
        "\"all\": {\"op\": \"sum\", \"input\": \"r\"}, \"d\": {\"op\": \"subtract\", \"inputs\": [\"r\", \"all\"]},"
        "\"m\": {\"op\": \"mean\", \"input\": \"d\", \"axes\": 0}, \"n\": {\"op\": \"add\", \"inputs\": [\"m\", "
        "\"r\"]},"
        "\"q\": {\"op\": \"divide\", \"inputs\": [\"n\", \"all\"]}}, \"targets\": [\"q\", \"all\"]}",
        "q", 0);
}

static void
matmul_is_the_same_for_all_chunks(void **state)
{
    struct world *world = *state;

    same_tensor_for_all_chunks(world,
                               "{\"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [19, 23], \"seed\": 1},"
                               "\"b\": {\"op\": \"random\", \"shape\": [23, 12], \"seed\": 2, \"chunk\": [5, 5]},"
                               "\"c\": {\"op\": \"matmul\", \"inputs\": [\"a\", \"b\"]},"
                               "\"t\": {\"op\": \"sum\", \"input\": \"c\", \"axes\": 0}}, \"targets\": [\"c\", \"t\"]}",
                               "c", 1e-9);
}

/* A product of large matrices: its blocks follow from the shapes. */
static void
wide_matmul_has_the_same_bytes_for_all_chunks(void **state)
{
    struct world *world = *state;
    static const char *const chunks[] = {"", ", \"chunk\": [33, 1000]", ", \"chunk\": [300, 700]"};
    double *values[3];
    size_t count = 0;

    for (size_t i = 0; i < 3; i++) {
        char json[400];

        (void)snprintf(json, sizeof json,
                       "{\"nodes\": {\"a\": {\"op\": \"random\", \"shape\": [70, 300], \"seed\": 1},"
                       "\"b\": {\"op\": \"random\", \"shape\": [300, 4200], \"seed\": 2%s},"
                       "\"c\": {\"op\": \"matmul\", \"inputs\": [\"a\", \"b\"]}}, \"targets\": [\"c\"]}",
                       chunks[i]);
        world_must(world, json);
        values[i] = tensor_values(world, "c", &count);
        assert_int_equal(count, 70 * 4200);
        assert_memory_equal(values[i], values[0], count * sizeof *values[i]);
        runner_reset(world);
    }
    for (size_t i = 0; i < 3; i++) {
        free(values[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(read_is_the_same_for_all_chunks, setup, teardown),
        cmocka_unit_test_setup_teardown(groupby_sort_head_is_the_same_for_all_chunks, setup, teardown),
        cmocka_unit_test_setup_teardown(sort_is_stable_for_all_chunks, setup, teardown),
        cmocka_unit_test_setup_teardown(join_is_the_same_for_all_chunks, setup, teardown),
        cmocka_unit_test_setup_teardown(head_is_the_same_for_all_chunks, setup, teardown),
        cmocka_unit_test_setup_teardown(a_header_alone_is_a_frame_without_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_records_are_named_alike_for_all_chunks, setup, teardown),
        cmocka_unit_test_setup_teardown(steps_wait_for_what_they_ask, setup, teardown),
        cmocka_unit_test_setup_teardown(ids_and_numbers_do_not_depend_on_when_answers_come, setup, teardown),
        cmocka_unit_test_setup_teardown(answers_that_are_none_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(any_pipeline_is_the_same_with_and_without_rules, setup, teardown),
        cmocka_unit_test_setup_teardown(every_rule_can_be_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(birdstrikes_cost_what_they_cost, setup, teardown),
        cmocka_unit_test_setup_teardown(tensors_are_the_same_for_all_chunks, setup, teardown),
        cmocka_unit_test_setup_teardown(reductions_broadcast_back, setup, teardown),
        cmocka_unit_test_setup_teardown(matmul_is_the_same_for_all_chunks, setup, teardown),
        cmocka_unit_test_setup_teardown(wide_matmul_has_the_same_bytes_for_all_chunks, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
