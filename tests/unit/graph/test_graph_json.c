#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "graph_json/json.h"
#include "support.h"

/* The main job, in the form in which it is written back. */
static const char birds[] = "{\n"
                            "  \"nodes\": {\n"
                            "    \"strikes\": {\n"
                            "      \"op\": \"read_csv\",\n"
                            "      \"path\": \"birdstrikes.csv\"\n"
                            "    },\n"
                            "    \"by\": {\n"
                            "      \"op\": \"groupby\",\n"
                            "      \"input\": \"strikes\",\n"
                            "      \"keys\": [\n"
                            "        \"Wildlife Species\"\n"
                            "      ],\n"
                            "      \"aggregate\": {\n"
                            "        \"n\": \"size\",\n"
                            "        \"total\": \"sum(Cost Total $)\",\n"
                            "        \"mean_speed\": \"mean(Speed IAS in knots)\"\n"
                            "      }\n"
                            "    },\n"
                            "    \"top\": {\n"
                            "      \"op\": \"sort\",\n"
                            "      \"input\": \"by\",\n"
                            "      \"by\": [\n"
                            "        \"total\"\n"
                            "      ],\n"
                            "      \"descending\": true\n"
                            "    },\n"
                            "    \"first\": {\n"
                            "      \"op\": \"head\",\n"
                            "      \"input\": \"top\",\n"
                            "      \"rows\": 10\n"
                            "    }\n"
                            "  },\n"
                            "  \"targets\": [\n"
                            "    \"first\"\n"
                            "  ]\n"
                            "}";

static Granary__Graph *
read_text(const char *text)
{
    Granary__Graph *graph = NULL;

    assert_succeeds(gr_graph_from_json(text, strlen(text), &graph));
    return graph;
}

/* Read and written, text is as `want`. */
static void
assert_written(const char *text, const char *want)
{
    Granary__Graph *graph = read_text(text);
    struct gr_buf out = {0};

    assert_succeeds(gr_graph_to_json(graph, &out));
    assert_string_equal(out.bytes, want);
    gr_buf_free(&out);
    granary__graph__free_unpacked(graph, NULL);
}

static void
the_main_job_is_read(void **state)
{
    Granary__Graph *graph = read_text(birds);
    const Granary__Node *by = graph->nodes[1];
    const Granary__Attr *aggregate = gr_attr_find(by->attrs, by->n_attrs, "aggregate");

    (void)state;
    assert_int_equal(graph->n_nodes, 4);
    assert_string_equal(by->name, "by");
    assert_string_equal(by->op, "groupby");
    assert_int_equal(by->n_inputs, 1);
    assert_string_equal(by->inputs[0], "strikes");
    assert_int_equal(aggregate->kind, GRANARY__ATTR__KIND__MAP);
    assert_int_equal(aggregate->n_keys, 3);
    assert_string_equal(aggregate->keys[1], "total");
    assert_string_equal(aggregate->strings[1], "sum(Cost Total $)");
    assert_int_equal(graph->n_targets, 1);
    assert_string_equal(graph->targets[0], "first");
    granary__graph__free_unpacked(graph, NULL);
}

static void
what_is_read_is_written_the_same(void **state)
{
    (void)state;
    assert_written(birds, birds);
}

/* One target, nodes as a list, "inputs" of one: other spellings of the same graph. */
static void
other_spellings_mean_the_same(void **state)
{
    (void)state;
    assert_written(
        "{\"targets\": \"first\", \"nodes\": ["
        "{\"name\": \"strikes\", \"op\": \"read_csv\", \"path\": \"birdstrikes.csv\"},"
        "{\"name\": \"by\", \"op\": \"groupby\", \"inputs\": [\"strikes\"], \"keys\": [\"Wildlife Species\"],"
        "\"aggregate\": {\"n\": \"size\", \"total\": \"sum(Cost Total $)\","
        "\"mean_speed\": \"mean(Speed IAS in knots)\"}},"
        "{\"op\": \"sort\", \"input\": \"by\", \"name\": \"top\", \"by\": [\"total\"], \"descending\": true},"
        "{\"name\": \"first\", \"op\": \"head\", \"input\": \"top\", \"rows\": 10}]}",
        birds);
}

static void
every_kind_of_value_survives(void **state)
{
    static const char text[] = "{\n"
                               "  \"nodes\": {\n"
                               "    \"n\": {\n"
                               "      \"op\": \"unheard of\",\n"
                               "      \"inputs\": [\n"
                               "        \"a\",\n"
                               "        \"é\"\n"
                               "      ],\n"
                               "      \"int\": -9223372036854775808,\n"
                               "      \"double\": 0.10000000000000001,\n"
                               "      \"bool\": false,\n"
                               "      \"string\": \"\\u0001 \\\" 🐦\",\n"
                               "      \"ints\": [\n"
                               "        1,\n"
                               "        2\n"
                               "      ],\n"
                               "      \"doubles\": [\n"
                               "        1.0,\n"
                               "        2.5\n"
                               "      ],\n"
                               "      \"bools\": [\n"
                               "        true,\n"
                               "        false\n"
                               "      ],\n"
                               "      \"empty\": [],\n"
                               "      \"map\": {\n"
                               "        \"z\": \"1\",\n"
                               "        \"a\": \"2\"\n"
                               "      },\n"
                               "      \"none\": {}\n"
                               "    }\n"
                               "  }\n"
                               "}";

    (void)state;
    assert_written(text, text);
}

static void
mistakes_are_told_where_they_are(void **state)
{
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"", "line 1, column 0: "},
        {"{\n  \"nodes\": {\n    \"a\" 1\n", "line 3, column 9: ':' expected near '1'"},
        {"{\"nodes\": {}} x", "line 1, column 15: end of file expected near 'x'"},
        {"{\"nodes\": {\"a\": {\"op\": \"null\"},\n \"a\": {\"op\": \"null\"}}}",
         "line 2, column 4: duplicate object key"},
        {"{\"nodes\": 9223372036854775808}", "where a value is wanted, it can be a string of its digits"},
        {"{\"nodes\": 1e999}", "real number overflow"},
        {"{\"nodes\": \"\\ud800\"}", "invalid Unicode"},
        {"{\"nodes\": \"\\u0000\"}", "\\u0000 is not allowed"},
        {"[]", "a graph is an object with 'nodes' and 'targets', not a list"},
        {"7", "a graph is an object with 'nodes' and 'targets', not a number"},
        {"{}", "the graph has no member 'nodes'"},
        {"{\"node\": {}}", "unknown member 'node'; did you mean 'nodes'?"},
        {"{\"nodes\": {}, \"extra\": 1}", "unknown member 'extra'"},
        {"{\"nodes\": \"a\"}", "'nodes' needs an object (name: node) or a list of nodes, not a string"},
        {"{\"nodes\": [1]}", "node 1 of the list 'nodes' is no object"},
        {"{\"nodes\": [{\"op\": \"null\"}]}", "node 1 of the list 'nodes' has no 'name'"},
        {"{\"nodes\": [{\"op\": \"null\", \"name\": 2}]}", "has a 'name' that is no string"},
        {"{\"nodes\": {\"a\": 1}}",
         "node 'a': it needs to be an object with 'op', inputs and parameters, not a number"},
        {"{\"nodes\": {\"a\": {}}}", "node 'a': it has no operator ('op')"},
        {"{\"nodes\": {\"a\": {\"op\": 1}}}", "node 'a': 'op' needs the name of an operator, not a number"},
        {"{\"nodes\": {\"a\": {\"op\": \"head\", \"inptu\": \"b\"}}}",
         "node 'a' (head): unknown member 'inptu'; did you mean 'input'?"},
        {"{\"nodes\": {\"a\": {\"op\": \"head\", \"row\": 1}}}",
         "node 'a' (head): unknown member 'row'; did you mean 'rows'?"},
        {"{\"nodes\": {\"a\": {\"op\": \"head\", \"name\": \"a\"}}}",
         "node 'a' (head): unknown member 'name'; its parameters are: rows"},
        {"{\"nodes\": {\"a\": {\"op\": \"head\", \"input\": 1}}}",
         "node 'a' (head): 'input' needs a name or a list of names, not a number"},
        {"{\"nodes\": {\"a\": {\"op\": \"head\", \"input\": [\"b\"]}}}", "a list of names is called 'inputs'"},
        {"{\"nodes\": {\"a\": {\"op\": \"head\", \"inputs\": [\"b\", null]}}}",
         "'inputs' has null where a name is needed"},
        {"{\"nodes\": {\"a\": {\"op\": \"head\", \"input\": \"b\", \"inputs\": [\"b\"]}}}",
         "it has 'input' and 'inputs'"},
        {"{\"nodes\": {\"a\": {\"op\": \"head\", \"rows\": null}}}",
         "node 'a' (head): parameter 'rows' is null; leave it out for its default"},
        {"{\"nodes\": {\"a\": {\"op\": \"sort\", \"by\": [\"b\", 1]}}}",
         "node 'a' (sort): parameter 'by': a list has strings, or numbers, or true and false"},
        {"{\"nodes\": {\"a\": {\"op\": \"sort\", \"by\": [[]]}}}", "parameter 'by': a list has strings"},
        {"{\"nodes\": {\"a\": {\"op\": \"assign\", \"columns\": {\"c\": 1}}}}",
         "node 'a' (assign): parameter 'columns', entry 'c' needs a string, not a number"},
        {"{\"nodes\": {}, \"level\": \"row\"}", "'level' is \"tileable\" (default) or \"chunk\""},
        {"{\"nodes\": {}, \"level\": 1}", "'level' is \"tileable\" (default) or \"chunk\""},
        {"{\"nodes\": {}, \"targets\": {}}", "'targets' needs a name or a list of names, not an object"},
        {"{\"nodes\": {}, \"targets\": [1]}", "'targets' has a number where a name is needed"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Granary__Graph *graph = NULL;

        assert_fails(gr_graph_from_json(cases[i].text, strlen(cases[i].text), &graph), GRANARY_EINVAL, cases[i].want);
        assert_null(graph);
    }
}

static void
bytes_that_are_no_text_are_refused(void **state)
{
    Granary__Graph *graph = NULL;
    struct gr_buf deep = {0};

    (void)state;
    assert_fails(gr_graph_from_json("{\"nodes\": \"\xff\"}", 13, &graph), GRANARY_EINVAL, "line 1, column");
    assert_fails(gr_graph_from_json("{\"nodes\": {}\0}", 14, &graph), GRANARY_EINVAL, "line 1, column");
    for (int i = 0; i < 100000; i++) {
        gr_buf_add(&deep, "[", 1);
    }
    assert_fails(gr_graph_from_json(deep.bytes, deep.size, &graph), GRANARY_EINVAL, "maximum parsing depth reached");
    gr_buf_free(&deep);
}

/* A number that JSON does not have is a word, which the check takes for that number. */
static void
what_is_no_number_of_json_is_a_word(void **state)
{
    static const double values[] = {1.0 / 0.0, -1.0 / 0.0};
    static const char *const words[] = {"\"inf\"", "\"-inf\"", "\"nan\""};

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        Granary__Graph *graph = read_text("{\"nodes\": {\"x\": {\"op\": \"zeros\", \"shape\": [2]}, "
                                          "\"a\": {\"op\": \"add\", \"input\": \"x\", \"value\": 1.5}}}");
        double value = i < 2 ? values[i] : nan("");
        struct gr_graph *checked = NULL;
        struct gr_buf out = {0};
        const Granary__Attr *attr;

        graph->nodes[1]->attrs[0]->doubles[0] = value;
        assert_int_equal(gr_graph_to_json(graph, &out), GRANARY_OK);
        granary__graph__free_unpacked(graph, NULL);
        assert_non_null(strstr(out.bytes, words[i]));
        assert_int_equal(gr_graph_from_json(out.bytes, out.size, &graph), GRANARY_OK);
        assert_int_equal(gr_graph_create(graph, &checked), GRANARY_OK);
        attr = gr_attr_find(checked->nodes[1]->node->attrs, checked->nodes[1]->node->n_attrs, "value");
        assert_int_equal(attr->kind, GRANARY__ATTR__KIND__DOUBLE);
        assert_true(i < 2 ? attr->doubles[0] == value : isnan(attr->doubles[0]));
        gr_graph_destroy(checked);
        gr_buf_free(&out);
    }
}

/* What JSON has no words for is an error, not a wrong text. */
static void
what_json_cannot_express_is_refused(void **state)
{
    Granary__Graph *graph = read_text("{\"nodes\": {\"a\": {\"op\": \"add\", \"value\": 1.5}}}");
    struct gr_buf out = {0};

    (void)state;
    graph->nodes[0]->attrs[0]->doubles[0] = 1.0 / 0.0;
    graph->nodes[0]->attrs[0]->kind = GRANARY__ATTR__KIND__DOUBLES;
    assert_fails(gr_graph_to_json(graph, &out), GRANARY_EINVAL, "node 'a': JSON cannot express its parameter 'value'");
    graph->nodes[0]->attrs[0]->doubles[0] = 1;
    graph->nodes[0]->attrs[0]->kind = GRANARY__ATTR__KIND__NONE;
    assert_fails(gr_graph_to_json(graph, &out), GRANARY_EINVAL, "cannot express its parameter 'value'");
    graph->nodes[0]->attrs[0]->kind = GRANARY__ATTR__KIND__DOUBLE;
    graph->nodes[0]->op[0] = '\xff';
    assert_fails(gr_graph_to_json(graph, &out), GRANARY_EINVAL, "node 'a': JSON cannot express it");
    gr_buf_free(&out);
    granary__graph__free_unpacked(graph, NULL);

    graph = read_text("{\"nodes\": [{\"name\": \"a\", \"op\": \"null\"}, {\"name\": \"a\", \"op\": \"null\"}]}");
    assert_fails(gr_graph_to_json(graph, &out), GRANARY_EINVAL, "node 'a': an earlier node has the same name");
    gr_buf_free(&out);
    granary__graph__free_unpacked(graph, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_main_job_is_read),
        cmocka_unit_test(what_is_read_is_written_the_same),
        cmocka_unit_test(other_spellings_mean_the_same),
        cmocka_unit_test(every_kind_of_value_survives),
        cmocka_unit_test(mistakes_are_told_where_they_are),
        cmocka_unit_test(bytes_that_are_no_text_are_refused),
        cmocka_unit_test(what_is_no_number_of_json_is_a_word),
        cmocka_unit_test(what_json_cannot_express_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
