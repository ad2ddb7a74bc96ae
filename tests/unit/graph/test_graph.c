#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "graph/ops.h"
#include "graph_json/json.h"
#include "support.h"

static Granary__Graph *
parse(const char *text)
{
    Granary__Graph *message = NULL;

    assert_succeeds(gr_graph_from_json(text, strlen(text), &message));
    return message;
}

static struct gr_graph *
create(const char *text)
{
    struct gr_graph *graph = NULL;

    assert_succeeds(gr_graph_create(parse(text), &graph));
    return graph;
}

static size_t
place_of(const struct gr_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (strcmp(graph->nodes[i]->node->name, name) == 0) {
            return i;
        }
    }
    fail_msg("no node %s", name);
    return 0;
}

static void
inputs_come_before_their_readers(void **state)
{
    struct gr_graph *graph =
        create("{\"nodes\": {\"top\": {\"op\": \"head\", \"input\": \"sorted\", \"rows\": 3},"
               "\"sorted\": {\"op\": \"sort\", \"input\": \"both\", \"by\": [\"a\"]},"
               "\"both\": {\"op\": \"join\", \"inputs\": [\"left\", \"right\"], \"on\": \"a\"},"
               "\"right\": {\"op\": \"read_csv\", \"path\": \"r\"}, \"left\": {\"op\": \"read_csv\", \"path\": \"l\"}},"
               "\"targets\": [\"both\", \"top\"]}");

    (void)state;
    assert_int_equal(graph->count, 5);
    for (size_t i = 0; i < graph->count; i++) {
        for (size_t j = 0; j < graph->nodes[i]->input_count; j++) {
            const struct gr_node *input = graph->nodes[i]->inputs[j];

            assert_true(input->position < i && graph->nodes[input->position] == input);
            assert_string_equal(graph->nodes[i]->node->inputs[j], input->node->name);
        }
    }
    assert_int_equal(graph->nodes[place_of(graph, "both")]->op, GR_TILE_join);
    assert_int_equal(graph->target_count, 2);
    assert_int_equal(graph->targets[0], place_of(graph, "both"));
    assert_int_equal(graph->targets[1], place_of(graph, "top"));
    gr_graph_destroy(graph);
}

static void
without_targets_the_last_nodes_are_kept(void **state)
{
    struct gr_graph *graph = create("{\"nodes\": {\"r\": {\"op\": \"random\", \"shape\": [3]},"
                                    "\"s\": {\"op\": \"sqrt\", \"input\": \"r\"},"
                                    "\"e\": {\"op\": \"exp\", \"input\": \"r\"}}}");

    (void)state;
    assert_int_equal(graph->target_count, 2);
    assert_string_equal(graph->message->targets[0], "s");
    assert_string_equal(graph->message->targets[1], "e");
    gr_graph_destroy(graph);
}

/* What readers of attributes rely on: a list parameter is a list, even when one value was given. */
static void
single_values_become_lists(void **state)
{
    struct gr_graph *graph = create("{\"nodes\": {\"f\": {\"op\": \"read_csv\", \"path\": \"p\"},"
                                    "\"s\": {\"op\": \"sort\", \"input\": \"f\", \"by\": \"a\", \"descending\": true},"
                                    "\"r\": {\"op\": \"random\", \"shape\": 7, \"chunk\": 2}}}");
    const Granary__Node *sort = graph->nodes[place_of(graph, "s")]->node;
    const Granary__Node *random = graph->nodes[place_of(graph, "r")]->node;
    const Granary__Attr *attr;

    (void)state;
    attr = gr_attr_find(sort->attrs, sort->n_attrs, "by");
    assert_int_equal(attr->kind, GRANARY__ATTR__KIND__STRINGS);
    assert_int_equal(attr->n_strings, 1);
    attr = gr_attr_find(sort->attrs, sort->n_attrs, "descending");
    assert_int_equal(attr->kind, GRANARY__ATTR__KIND__BOOLS);
    assert_int_equal(attr->n_ints, 1);
    attr = gr_attr_find(random->attrs, random->n_attrs, "shape");
    assert_int_equal(attr->kind, GRANARY__ATTR__KIND__INTS);
    assert_int_equal(attr->ints[0], 7);
    gr_graph_destroy(graph);
}

/* Each is put where NODE stands beside a frame `f` and a tensor `t`. */
static const struct wrong {
    const char *node;
    granary_err err;
    const char *want;
} wrongs[] = {
    {"\"op\": \"grupby\"", GRANARY_ENOENT, "node 'x' (grupby): there is no operator 'grupby'; did you mean 'groupby'?"},
    {"\"op\": \"\"", GRANARY_EINVAL, "node 'x': it has no operator"},
    {"\"op\": \"head\", \"input\": \"f\"", GRANARY_EINVAL,
     "node 'x' (head): parameter 'rows' is missing: an integer (how many at most, 0 or more)"},
    {"\"op\": \"head\", \"input\": \"f\", \"rows\": -1", GRANARY_EINVAL, "node 'x' (head): parameter 'rows' is -1"},
    {"\"op\": \"head\", \"input\": \"f\", \"rows\": 1.5", GRANARY_EINVAL,
     "node 'x' (head): parameter 'rows' needs an integer, not a number with a fraction"},
    {"\"op\": \"head\", \"input\": \"f\", \"rows\": [1]", GRANARY_EINVAL,
     "parameter 'rows' needs an integer, not a list of integers"},
    {"\"op\": \"head\", \"rows\": 1", GRANARY_EINVAL, "node 'x' (head): it takes 1 input, but has 0"},
    {"\"op\": \"head\", \"inputs\": [\"f\", \"f\"], \"rows\": 1", GRANARY_EINVAL, "it takes 1 input, but has 2"},
    {"\"op\": \"random\", \"input\": \"f\", \"shape\": [1]", GRANARY_EINVAL, "it takes no input, but has 1"},
    {"\"op\": \"add\"", GRANARY_EINVAL, "it takes 1 to 2 inputs, but has 0"},
    {"\"op\": \"head\", \"input\": \"fi\", \"rows\": 1", GRANARY_ENOENT, "node 'x' (head): there is no node 'fi'"},
    {"\"op\": \"head\", \"input\": \"stikes\", \"rows\": 1", GRANARY_ENOENT, "did you mean 'strikes'?"},
    {"\"op\": \"head\", \"input\": \"t\", \"rows\": 1", GRANARY_ETYPE,
     "node 'x' (head): it works on frames, but its input 't' (random) yields a tensor"},
    {"\"op\": \"sqrt\", \"input\": \"f\"", GRANARY_ETYPE,
     "it works on tensors, but its input 'f' (read_csv) yields a frame"},
    {"\"op\": \"sqrt\", \"input\": \"nop\"", GRANARY_ETYPE, "its input 'nop' (null) yields nothing"},
    {"\"op\": \"read_csv\", \"path\": \"\"", GRANARY_EINVAL, "parameter 'path' is empty"},
    {"\"op\": \"read_csv\", \"path\": \"p\", \"delimiter\": \"ab\"", GRANARY_EINVAL, "needs one ASCII character"},
    {"\"op\": \"read_csv\", \"path\": \"p\", \"delimiter\": \"\\\"\"", GRANARY_EINVAL, "no quote"},
    {"\"op\": \"read_csv\", \"path\": \"p\", \"header\": \"yes\"", GRANARY_EINVAL,
     "parameter 'header' needs true or false, not a string"},
    {"\"op\": \"read_csv\", \"path\": \"p\", \"dtypes\": {\"a\": \"int\"}", GRANARY_EINVAL,
     "parameter 'dtypes', column 'a': no dtype 'int'; there are: bool, int8, int16"},
    {"\"op\": \"select\", \"input\": \"f\", \"columns\": []", GRANARY_EINVAL, "'columns' names no column"},
    {"\"op\": \"select\", \"input\": \"f\", \"columns\": [\"a\", \"a\"]", GRANARY_EINVAL, "names column 'a' twice"},
    {"\"op\": \"select\", \"input\": \"f\", \"columns\": [\"\"]", GRANARY_EINVAL, "has an empty column name"},
    {"\"op\": \"select\", \"input\": \"f\", \"columns\": [1]", GRANARY_EINVAL,
     "parameter 'columns' needs a list of strings, not a list of integers"},
    {"\"op\": \"filter\", \"input\": \"f\", \"where\": \"a >\"", GRANARY_EINVAL,
     "node 'x' (filter): expression `a >`, position 4: "},
    {"\"op\": \"assign\", \"input\": \"f\", \"columns\": {}", GRANARY_EINVAL, "parameter 'columns' is empty"},
    {"\"op\": \"assign\", \"input\": \"f\", \"columns\": {\"\": \"1\"}", GRANARY_EINVAL, "has an empty column name"},
    {"\"op\": \"assign\", \"input\": \"f\", \"columns\": {\"c d\": \"(1\"}", GRANARY_EINVAL,
     "node 'x' (assign): column 'c d': expression `(1`, position 3"},
    {"\"op\": \"groupby\", \"input\": \"f\", \"keys\": \"k\", \"aggregate\": {\"n\": \"sizes\"}", GRANARY_EINVAL,
     "node 'x' (groupby): aggregate 'n': no function 'sizes'; did you mean 'size'?"},
    {"\"op\": \"sort\", \"input\": \"f\", \"by\": []", GRANARY_EINVAL, "parameter 'by' names no column"},
    {"\"op\": \"groupby\", \"input\": \"f\", \"keys\": \"k\", \"aggregate\": {}", GRANARY_EINVAL,
     "'aggregate' is empty"},
    {"\"op\": \"groupby\", \"input\": \"f\", \"keys\": \"k\", \"aggregate\": {\"k\": \"size\"}", GRANARY_EINVAL,
     "aggregate 'k' has the name of a key"},
    {"\"op\": \"sort\", \"input\": \"f\", \"by\": [\"a\", \"b\"], \"descending\": [true, false, true]", GRANARY_EINVAL,
     "parameter 'descending' has 3 values for 2 columns"},
    {"\"op\": \"sort\", \"input\": \"f\", \"by\": [\"a\", \"b\"], \"descending\": []", GRANARY_EINVAL, "has 0 values"},
    {"\"op\": \"join\", \"inputs\": [\"f\", \"f\"]", GRANARY_EINVAL, "the key columns are missing"},
    {"\"op\": \"join\", \"inputs\": [\"f\", \"f\"], \"on\": \"a\", \"left_on\": \"a\"", GRANARY_EINVAL,
     "either 'on', or both 'left_on' and 'right_on'"},
    {"\"op\": \"join\", \"inputs\": [\"f\", \"f\"], \"left_on\": \"a\"", GRANARY_EINVAL, "both 'left_on'"},
    {"\"op\": \"join\", \"inputs\": [\"f\", \"f\"], \"left_on\": [\"a\", \"b\"], \"right_on\": \"a\"", GRANARY_EINVAL,
     "'left_on' has 2 columns, but 'right_on' 1"},
    {"\"op\": \"join\", \"inputs\": [\"f\", \"f\"], \"on\": []", GRANARY_EINVAL, "names no column"},
    {"\"op\": \"join\", \"inputs\": [\"f\", \"f\"], \"on\": \"a\", \"how\": \"full\"", GRANARY_EINVAL,
     "parameter 'how' is 'full'; it can be 'inner', 'left', 'right'"},
    {"\"op\": \"join\", \"inputs\": [\"f\", \"f\"], \"on\": \"a\", \"how\": \"cross\"", GRANARY_EINVAL,
     "a cross join has no key columns"},
    {"\"op\": \"join\", \"inputs\": [\"f\", \"f\"], \"on\": \"a\", \"validate\": \"2:1\"", GRANARY_EINVAL,
     "it can be '1:1', '1:m', 'm:1', 'm:m'"},
    {"\"op\": \"join\", \"inputs\": [\"f\", \"f\"], \"on\": \"a\", \"order\": \"right\"", GRANARY_EINVAL,
     "it can be 'left' or 'any'"},
    {"\"op\": \"join\", \"inputs\": [\"f\", \"f\"], \"on\": \"a\", \"how\": \"semi\", \"indicator\": \"m\"",
     GRANARY_EINVAL, "of no use in a semi join"},
    {"\"op\": \"join\", \"inputs\": [\"f\", \"f\"], \"on\": \"a\", \"null_aware\": true", GRANARY_EINVAL,
     "is for anti joins, not for inner ones"},
    {"\"op\": \"join\", \"inputs\": [\"f\", \"f\"], \"on\": [\"a\", \"b\"], \"how\": \"anti\", \"null_aware\": true",
     GRANARY_EINVAL, "needs one key column"},
    {"\"op\": \"join\", \"inputs\": [\"f\", \"f\"], \"on\": \"a\", \"suffixes\": [\"_l\"]", GRANARY_EINVAL,
     "'suffixes' needs two strings"},
    {"\"op\": \"concat\", \"inputs\": [\"f\", \"f\"], \"axis\": 2", GRANARY_EINVAL, "parameter 'axis' is 2"},
    {"\"op\": \"concat\", \"inputs\": [\"f\", \"f\"], \"join\": \"left\"", GRANARY_EINVAL, "can be 'outer' or 'inner'"},
    {"\"op\": \"random\", \"shape\": [1], \"distribution\": \"gauss\"", GRANARY_EINVAL,
     "'distribution' is 'gauss'; it can be 'uniform', 'normal'"},
    {"\"op\": \"arange\", \"stop\": 3, \"step\": 0", GRANARY_EINVAL, "parameter 'step' cannot be 0"},
    {"\"op\": \"arange\", \"stop\": \"3\"", GRANARY_EINVAL, "parameter 'stop' needs a number, not a string"},
    {"\"op\": \"add\", \"input\": \"t\"", GRANARY_EINVAL, "the second operand is missing"},
    {"\"op\": \"add\", \"input\": \"t\", \"value\": \"18446744073709551616\"", GRANARY_EINVAL,
     "parameter 'value' needs a number (an integer may be a string of its digits, up to uint64), not a string"},
    {"\"op\": \"add\", \"input\": \"t\", \"value\": \"1x\"", GRANARY_EINVAL, "not a string"},
    {"\"op\": \"add\", \"inputs\": [\"t\", \"t\"], \"value\": 1", GRANARY_EINVAL,
     "two inputs and the parameter 'value'"},
};

static void
every_mistake_is_told_with_its_node(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        char text[1024];
        struct gr_graph *graph = NULL;
        Granary__Graph *message;

        (void)snprintf(
            text, sizeof text,
            "{\"nodes\": {\"f\": {\"op\": \"read_csv\", \"path\": \"p\"}, \"strikes\": {\"op\": \"read_csv\","
            "\"path\": \"p\"}, \"t\": {\"op\": \"random\", \"shape\": [2]}, \"nop\": {\"op\": \"null\"},"
            "\"x\": {%s}}}",
            wrongs[i].node);
        message = parse(text);
        assert_fails(gr_graph_create(message, &graph), wrongs[i].err, wrongs[i].want);
        assert_non_null(strstr(granary_error_message(), "node 'x'"));
        assert_null(graph);
        granary__graph__free_unpacked(message, NULL);
    }
}

static void
assert_graph_fails(const char *text, granary_err err, const char *want)
{
    struct gr_graph *graph = NULL;
    Granary__Graph *message = parse(text);

    assert_fails(gr_graph_create(message, &graph), err, want);
    granary__graph__free_unpacked(message, NULL);
}

static void
cycles_show_their_path(void **state)
{
    (void)state;
    assert_graph_fails("{\"nodes\": {\"a\": {\"op\": \"sqrt\", \"input\": \"a\"}}}", GRANARY_EINVAL,
                       "node 'a' (sqrt): it depends on its own result: a -> a");
    assert_graph_fails("{\"nodes\": {\"a\": {\"op\": \"sqrt\", \"input\": \"c\"}, \"b\": {\"op\": \"sqrt\","
                       "\"input\": \"a\"}, \"c\": {\"op\": \"sqrt\", \"input\": \"b\"}}}",
                       GRANARY_EINVAL, "a -> b -> c -> a");
    /* What only leads into the circle is not part of it. */
    assert_graph_fails("{\"nodes\": {\"z\": {\"op\": \"exp\", \"input\": \"a\"}, \"a\": {\"op\": \"sqrt\", \"input\":"
                       "\"b\"}, \"b\": {\"op\": \"sqrt\", \"input\": \"a\"}}}",
                       GRANARY_EINVAL, "node 'a' (sqrt): it depends on its own result: a -> b -> a");
}

static void
a_long_cycle_is_shortened(void **state)
{
    char text[4096];
    int used = snprintf(text, sizeof text, "{\"nodes\": {");

    (void)state;
    for (int i = 0; i < 40; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "%s\"n%d\": {\"op\": \"sqrt\", \"input\": \"n%d\"}",
                         i == 0 ? "" : ", ", i, (i + 39) % 40);
    }
    (void)snprintf(text + used, sizeof text - (size_t)used, "}}");
    assert_graph_fails(text, GRANARY_EINVAL, "result: n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> n7 -> n8 -> ... -> n0");
}

static void
targets_must_exist_once(void **state)
{
    (void)state;
    assert_graph_fails("{\"nodes\": {\"first\": {\"op\": \"null\"}}, \"targets\": [\"firts\"]}", GRANARY_ENOENT,
                       "target 'firts': there is no node 'firts'; did you mean 'first'?");
    assert_graph_fails("{\"nodes\": {\"a\": {\"op\": \"null\"}}, \"targets\": [\"a\", \"a\"]}", GRANARY_EINVAL,
                       "target 'a' is named twice");
    assert_graph_fails("{\"nodes\": {}}", GRANARY_EINVAL, "the graph has no nodes");
}

/* A result is kept by its graph's key and its target, together at most as long as a key of the state. */
static void
targets_are_no_longer_than_they_can_be_kept(void **state)
{
    char name[GR_TARGET_MAX + 2];
    char text[4 * GR_TARGET_MAX];

    (void)state;
    memset(name, 'n', sizeof name);
    name[GR_TARGET_MAX + 1] = '\0';
    (void)snprintf(text, sizeof text, "{\"nodes\": {\"%s\": {\"op\": \"null\"}}}", name);
    assert_graph_fails(text, GRANARY_EINVAL, "its name has 961 bytes, at most 960 are possible");
    (void)snprintf(text, sizeof text, "{\"nodes\": {\"%s\": {\"op\": \"null\"}}, \"targets\": [\"%s\"]}", name, name);
    assert_graph_fails(text, GRANARY_EINVAL, "its name has 961 bytes, at most 960 are possible");
}

static void
names_are_unique_text(void **state)
{
    (void)state;
    assert_graph_fails("{\"nodes\": [{\"name\": \"a\", \"op\": \"null\"}, {\"name\": \"a\", \"op\": \"null\"}]}",
                       GRANARY_EINVAL, "node 'a' (null): an earlier node has the same name");
    assert_graph_fails("{\"nodes\": {\"\": {\"op\": \"null\"}}}", GRANARY_EINVAL, "node 1 (null) has no name");
    assert_graph_fails("{\"nodes\": {\"a\\u001b[31m\": {\"op\": \"null\"}}}", GRANARY_EINVAL, "control characters");
    assert_graph_fails("{\"nodes\": {\"a\\u009b31m\": {\"op\": \"null\"}}}", GRANARY_EINVAL, "control characters");
}

/* A message may come from anybody: kinds that lie about their fields are refused, not read. */
static void
lying_attributes_are_refused(void **state)
{
    static const Granary__Attr__Kind kinds[] = {GRANARY__ATTR__KIND__INT, GRANARY__ATTR__KIND__NONE,
                                                (Granary__Attr__Kind)99};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        Granary__Graph *message = parse("{\"nodes\": {\"f\": {\"op\": \"read_csv\", \"path\": \"p\"},"
                                        "\"h\": {\"op\": \"head\", \"input\": \"f\", \"rows\": []}}}");
        struct gr_graph *graph = NULL;

        message->nodes[1]->attrs[0]->kind = kinds[i];
        assert_fails(gr_graph_create(message, &graph), GRANARY_EINVAL, "parameter 'rows' needs an integer, not");
        granary__graph__free_unpacked(message, NULL);
    }
}

static void
parameters_given_twice_are_refused(void **state)
{
    Granary__Graph *message = parse("{\"nodes\": {\"r\": {\"op\": \"random\", \"shape\": [1], \"seed\": 2}}}");
    struct gr_graph *graph = NULL;

    (void)state;
    free(message->nodes[0]->attrs[1]->name);
    message->nodes[0]->attrs[1]->name = strdup("shape");
    assert_fails(gr_graph_create(message, &graph), GRANARY_EINVAL,
                 "node 'r' (random): parameter 'shape' is given twice");
    free(message->nodes[0]->attrs[1]->name);
    message->nodes[0]->attrs[1]->name = strdup("sead");
    assert_fails(gr_graph_create(message, &graph), GRANARY_EINVAL, "no parameter 'sead'; did you mean 'seed'?");
    free(message->nodes[0]->attrs[1]->name);
    message->nodes[0]->attrs[1]->name = strdup("zzz");
    assert_fails(gr_graph_create(message, &graph), GRANARY_EINVAL,
                 "no parameter 'zzz'; it has: shape, seed, distribution");
    granary__graph__free_unpacked(message, NULL);
}

enum { MANY = 100000 };

/* MANY nodes; chained: each needs the one after it. */
static struct gr_graph *
create_many(bool chained)
{
    Granary__Graph *message = malloc(sizeof *message);
    struct gr_graph *graph = NULL;

    granary__graph__init(message);
    message->nodes = calloc(MANY, sizeof *message->nodes);
    message->n_nodes = MANY;
    for (int i = 0; i < MANY; i++) {
        Granary__Node *node = malloc(sizeof *node);
        char name[16];

        granary__node__init(node);
        (void)snprintf(name, sizeof name, "n%d", i);
        node->name = strdup(name);
        node->op = strdup("null");
        if (chained && i < MANY - 1) {
            node->inputs = calloc(1, sizeof *node->inputs);
            (void)snprintf(name, sizeof name, "n%d", i + 1);
            node->inputs[0] = strdup(name);
            node->n_inputs = 1;
        }
        message->nodes[i] = node;
    }
    assert_succeeds(gr_graph_create(message, &graph));
    return graph;
}

/* Neither the stack nor time grows out of hand. */
static void
a_chain_of_100000_nodes_is_ordered(void **state)
{
    struct gr_graph *graph = create_many(true);

    (void)state;
    assert_string_equal(graph->nodes[0]->node->name, "n99999");
    assert_int_equal(graph->target_count, 1);
    assert_int_equal(graph->targets[0], MANY - 1);
    gr_graph_destroy(graph);
}

static void
all_of_100000_nodes_may_be_targets(void **state)
{
    struct gr_graph *graph = create_many(false);

    (void)state;
    assert_int_equal(graph->target_count, MANY);
    assert_int_equal(graph->targets[MANY - 1], MANY - 1);
    gr_graph_destroy(graph);
}

/* The struct of an operator has what is given, and what its rows say of the rest. */
static void
parameters_are_fields(void **state)
{
    Granary__Attr *attrs[] = {
        gr_attr_new_strings("by", (char *[]){(char *)(uintptr_t) "a"}, 1),
        gr_attr_new_bools("descending", (bool[]){true}, 1),
        gr_attr_new_int("limit", 7),
        gr_attr_new_int("of_no_row", 8),
    };
    const struct gr_param_info *rows = gr_chunk_params_of(GR_CHUNK_sort);
    struct gr_chunk_sort sort = {.given = 0};

    (void)state;
    assert_int_equal(gr_params_read(rows, attrs, 4, &sort), GRANARY_OK);
    assert_int_equal(sort.given, 3);
    assert_ptr_equal(sort.by, attrs[0]);
    assert_ptr_equal(sort.order.descending, attrs[1]); /* the same field, in its group */
    assert_null(sort.nulls_first);
    assert_false(sort.nan_largest);
    assert_int_equal(sort.limit, 7);
    assert_int_equal(GR_CHUNK_PARAMS(sort, attrs, 2)->limit, -1);
    assert_null(GR_PARAMS(slice, attrs, 0)->start);
    assert_true(GR_PARAMS(quantile, attrs, 0)->q == 0.5);
    assert_string_equal(GR_PARAMS(join, attrs, 0)->how, "inner");
    assert_int_equal(gr_params_read(rows, attrs + 1, 3, &(struct gr_chunk_sort){.given = 0}), GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), "'by'"));
    attrs[2]->kind = GRANARY__ATTR__KIND__BOOL;
    assert_int_equal(gr_params_read(rows, attrs, 4, &(struct gr_chunk_sort){.given = 0}), GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), "'limit'"));
    attrs[2]->kind = GRANARY__ATTR__KIND__INT;
    for (int i = 0; i < 4; i++) {
        granary__attr__free_unpacked(attrs[i], NULL);
    }
}

static void
attributes_have_defaults_and_copies(void **state)
{
    char *keys[] = {(char *)(uintptr_t) "k"};
    char *values[] = {(char *)(uintptr_t) "v"};
    Granary__Attr *attrs[] = {
        gr_attr_new_int("i", -5),
        gr_attr_new_double("d", 0.5),
        gr_attr_new_bool("b", true),
        gr_attr_new_string("s", ""),
        gr_attr_new_bools("bs", (bool[]){true, false}, 2),
        gr_attr_new_map("m", keys, values, 1),
        gr_attr_new_ints("none", NULL, 0),
    };
    const size_t count = sizeof attrs / sizeof attrs[0];
    Granary__Attr *copy;

    (void)state;
    assert_int_equal(gr_attr_int(attrs, count, "i", 1), -5);
    assert_int_equal(gr_attr_int(attrs, count, "d", 1), 1);
    assert_int_equal(gr_attr_int(attrs, count, "missing", 1), 1);
    assert_string_equal(gr_attr_string(attrs, count, "s", "x"), "");
    assert_string_equal(gr_attr_string(attrs, count, "i", "x"), "x");
    assert_null(gr_attr_find(attrs, count, "missing"));
    assert_int_equal(attrs[6]->n_ints, 0);

    copy = gr_attr_copy(attrs[5]);
    assert_string_equal(copy->keys[0], "k");
    assert_string_equal(copy->strings[0], "v");
    granary__attr__free_unpacked(copy, NULL);
    copy = gr_attr_copy(attrs[4]);
    assert_int_equal(copy->kind, GRANARY__ATTR__KIND__BOOLS);
    assert_int_equal(copy->ints[0], 1);
    assert_int_equal(copy->ints[1], 0);
    granary__attr__free_unpacked(copy, NULL);
    for (size_t i = 0; i < count; i++) {
        granary__attr__free_unpacked(attrs[i], NULL);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_come_before_their_readers),
        cmocka_unit_test(without_targets_the_last_nodes_are_kept),
        cmocka_unit_test(single_values_become_lists),
        cmocka_unit_test(every_mistake_is_told_with_its_node),
        cmocka_unit_test(cycles_show_their_path),
        cmocka_unit_test(a_long_cycle_is_shortened),
        cmocka_unit_test(targets_must_exist_once),
        cmocka_unit_test(names_are_unique_text),
        cmocka_unit_test(targets_are_no_longer_than_they_can_be_kept),
        cmocka_unit_test(lying_attributes_are_refused),
        cmocka_unit_test(parameters_given_twice_are_refused),
        cmocka_unit_test(a_chain_of_100000_nodes_is_ordered),
        cmocka_unit_test(all_of_100000_nodes_may_be_targets),
        cmocka_unit_test(attributes_have_defaults_and_copies),
        cmocka_unit_test(parameters_are_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
