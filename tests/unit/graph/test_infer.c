#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/buf.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "graph_json/json.h"
#include "support.h"

/* The graph of these nodes, beside two files: strikes and species. */
static struct gr_graph *
create(const char *nodes)
{
    char text[4096];
    Granary__Graph *message = NULL;
    struct gr_graph *graph = NULL;

    (void)snprintf(text, sizeof text,
                   "{\"nodes\": {\"strikes\": {\"op\": \"read_csv\", \"path\": \"a\"},"
                   "\"species\": {\"op\": \"read_csv\", \"path\": \"b\"}%s%s}}",
                   nodes[0] == '\0' ? "" : ", ", nodes);
    assert_succeeds(gr_graph_from_json(text, strlen(text), &message));
    assert_succeeds(gr_graph_create(message, &graph));
    return graph;
}

static struct gr_node *
node_of(struct gr_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (strcmp(graph->nodes[i]->node->name, name) == 0) {
            return graph->nodes[i];
        }
    }
    fail_msg("no node %s", name);
    return NULL;
}

/* What a planner does when it has looked into a file. */
static void
set_schema(struct gr_graph *graph, const char *name, const struct gr_field *fields, size_t count)
{
    struct gr_node_type *type = &node_of(graph, name)->type;

    for (size_t i = 0; i < count; i++) {
        assert_succeeds(gr_schema_add(&type->schema, fields[i].name, fields[i].dtype));
    }
    type->known = true;
}

#define NAME(text) ((char *)(uintptr_t)(text))

static void
set_strikes(struct gr_graph *graph)
{
    static const struct gr_field fields[] = {
        {NAME("Wildlife Species"), GRANARY_STRING},
        {NAME("Cost Total $"), GRANARY_INT64},
        {NAME("speed"), GRANARY_FLOAT64},
        {NAME("damaged"), GRANARY_BOOL},
        {NAME("day"), GRANARY_DATE},
    };

    set_schema(graph, "strikes", fields, 5);
}

static void
set_species(struct gr_graph *graph)
{
    static const struct gr_field fields[] = {
        {NAME("Wildlife Species"), GRANARY_STRING}, {NAME("speed"), GRANARY_FLOAT64}, {NAME("code"), GRANARY_INT64}};

    set_schema(graph, "species", fields, 3);
}

/* "a int64, b string" */
static void
assert_schema(struct gr_graph *graph, const char *name, const char *want)
{
    const struct gr_node_type *type = &node_of(graph, name)->type;
    struct gr_buf out = {0};

    assert_true(type->known);
    assert_false(type->is_tensor);
    for (size_t i = 0; i < type->schema.count; i++) {
        gr_buf_addf(&out, "%s%s %s", i == 0 ? "" : ", ", type->schema.fields[i].name,
                    granary_dtype_name(type->schema.fields[i].dtype));
    }
    assert_string_equal(out.bytes == NULL ? "" : out.bytes, want);
    gr_buf_free(&out);
}

static void
frames_have_the_columns_their_operators_give(void **state)
{
    static const struct {
        const char *node;
        const char *want;
    } cases[] = {
        {"\"op\": \"select\", \"input\": \"strikes\", \"columns\": [\"day\", \"Cost Total $\"]",
         "day date, Cost Total $ int64"},
        {"\"op\": \"filter\", \"input\": \"strikes\", \"where\": \"damaged and `Cost Total $` > 5\"",
         "Wildlife Species string, Cost Total $ int64, speed float64, damaged bool, day date"},
        {"\"op\": \"assign\", \"input\": \"strikes\", \"columns\": {\"speed\": \"`Cost Total $`\", \"k\": \"speed / "
         "2\"}",
         "Wildlife Species string, Cost Total $ int64, speed int64, damaged bool, day date, k float64"},
        {"\"op\": \"groupby\", \"input\": \"strikes\", \"keys\": [\"Wildlife Species\"], \"aggregate\": {\"n\": "
         "\"size\","
         "\"total\": \"sum(Cost Total $)\", \"mean_speed\": \"mean(speed)\", \"bad\": \"sum(damaged)\", \"first\":"
         "\"min(day)\", \"last\": \"max(Wildlife Species)\", \"days\": \"nunique(day)\"}",
         "Wildlife Species string, n int64, total int64, mean_speed float64, bad int64, first date, last string, "
         "days int64"},
        {"\"op\": \"sort\", \"input\": \"species\", \"by\": [\"code\", \"speed\"], \"descending\": [true, false]",
         "Wildlife Species string, speed float64, code int64"},
        {"\"op\": \"head\", \"input\": \"species\", \"rows\": 0", "Wildlife Species string, speed float64, code int64"},
        {"\"op\": \"join\", \"inputs\": [\"strikes\", \"species\"], \"on\": [\"Wildlife Species\"]",
         "Wildlife Species string, Cost Total $ int64, speed_x float64, damaged bool, day date, speed_y float64, "
         "code int64"},
        {"\"op\": \"join\", \"inputs\": [\"species\", \"species\"], \"on\": \"code\", \"how\": \"semi\", \"where\": "
         "\"speed_x < speed_y\"",
         "Wildlife Species string, speed float64, code int64"},
        {"\"op\": \"join\", \"inputs\": [\"species\", \"strikes\"], \"left_on\": \"code\", \"right_on\": \"speed\", "
         "\"how\": \"outer\", \"indicator\": \"from\"",
         "Wildlife Species_x string, speed_x float64, code int64, Wildlife Species_y string, Cost Total $ int64, "
         "speed_y "
         "float64, damaged bool, day date, from string"},
        {"\"op\": \"concat\", \"inputs\": [\"species\", \"strikes\"]",
         "Wildlife Species string, speed float64, code int64, Cost Total $ int64, damaged bool, day date"},
        {"\"op\": \"concat\", \"inputs\": [\"strikes\", \"species\", \"strikes\"], \"join\": \"inner\"",
         "Wildlife Species string, speed float64"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048];
        struct gr_graph *graph;

        (void)snprintf(text, sizeof text, "\"x\": {%s}", cases[i].node);
        graph = create(text);
        set_strikes(graph);
        set_species(graph);
        assert_succeeds(gr_graph_infer(graph));
        assert_schema(graph, "x", cases[i].want);
        gr_graph_destroy(graph);
    }
}

static void
wrong_frames_are_told_with_node_and_column(void **state)
{
    static const struct {
        const char *node;
        granary_err err;
        const char *want;
    } cases[] = {
        {"\"op\": \"select\", \"input\": \"strikes\", \"columns\": [\"Cost Totl $\"]", GRANARY_ENOENT,
         "node 'x' (select): parameter 'columns': no column 'Cost Totl $'; did you mean 'Cost Total $'?"},
        {"\"op\": \"sort\", \"input\": \"strikes\", \"by\": [\"altitude\"]", GRANARY_ENOENT,
         "node 'x' (sort): parameter 'by': no column 'altitude'; there are: 'Wildlife Species', 'Cost Total $'"},
        {"\"op\": \"filter\", \"input\": \"strikes\", \"where\": \"`Cost Total $`\"", GRANARY_ETYPE,
         "node 'x' (filter): expression ``Cost Total $`` is int64, but a filter needs a bool"},
        {"\"op\": \"filter\", \"input\": \"strikes\", \"where\": \"speed > 'fast'\"", GRANARY_EINVAL,
         "node 'x' (filter): expression `speed > 'fast'`, position 9: 'fast' meets "},
        {"\"op\": \"assign\", \"input\": \"strikes\", \"columns\": {\"k\": \"sped + 1\"}", GRANARY_ENOENT,
         "node 'x' (assign): column 'k': expression `sped + 1`, position 1: no column 'sped'; did you mean 'speed'?"},
        {"\"op\": \"groupby\", \"input\": \"strikes\", \"keys\": \"spec\", \"aggregate\": {\"n\": \"size\"}",
         GRANARY_ENOENT, "node 'x' (groupby): parameter 'keys': no column 'spec'"},
        {"\"op\": \"groupby\", \"input\": \"strikes\", \"keys\": \"day\", \"aggregate\": {\"n\": \"sum(cost)\"}",
         GRANARY_ENOENT, "node 'x' (groupby): aggregate 'n': no column 'cost'; did you mean 'Cost Total $'?"},
        {"\"op\": \"groupby\", \"input\": \"strikes\", \"keys\": \"day\", \"aggregate\": {\"n\":"
         "\"mean(Wildlife Species)\"}",
         GRANARY_ETYPE, "node 'x' (groupby): aggregate 'n': column 'Wildlife Species': mean needs numbers, not string"},
        {"\"op\": \"join\", \"inputs\": [\"strikes\", \"species\"], \"on\": \"day\"", GRANARY_ENOENT,
         "node 'x' (join): right side: no column 'day'"},
        {"\"op\": \"join\", \"inputs\": [\"strikes\", \"species\"], \"left_on\": \"damaged\", \"right_on\": \"code\"",
         GRANARY_ETYPE, "key 'damaged' is bool on the left side, but 'code' is int64 on the right side"},
        {"\"op\": \"join\", \"inputs\": [\"strikes\", \"species\"], \"on\": \"Wildlife Species\", \"where\": \"code\"",
         GRANARY_ETYPE, "parameter 'where', expression `code`: it is int64, not a bool"},
        {"\"op\": \"join\", \"inputs\": [\"strikes\", \"species\"], \"on\": \"Wildlife Species\", \"where\": \"speed > "
         "1\"",
         GRANARY_ENOENT, "no column 'speed'; did you mean 'speed_x'?"},
        {"\"op\": \"concat\", \"inputs\": [\"strikes\", \"species\"], \"axis\": 1", GRANARY_EINVAL,
         "two inputs have a column 'Wildlife Species': rename one of them"},
        {"\"op\": \"join\", \"inputs\": [\"strikes\", \"species\"], \"on\": \"Wildlife Species\", \"suffixes\":"
         "[\"_s\", \"_s\"]",
         GRANARY_EINVAL, "two columns of the result would be named 'speed_s'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048];
        struct gr_graph *graph;

        (void)snprintf(text, sizeof text, "\"x\": {%s}", cases[i].node);
        graph = create(text);
        set_strikes(graph);
        set_species(graph);
        assert_fails(gr_graph_infer(graph), cases[i].err, cases[i].want);
        assert_false(node_of(graph, "x")->type.known);
        gr_graph_destroy(graph);
    }
}

/* Types come as files become known, and what is known stays. */
static void
unknown_files_leave_their_readers_unknown(void **state)
{
    struct gr_graph *graph =
        create("\"h\": {\"op\": \"head\", \"input\": \"strikes\", \"rows\": 1}, \"j\": {\"op\": \"join\", \"inputs\":"
               "[\"h\", \"species\"], \"on\": \"Wildlife Species\"}, \"t\": {\"op\": \"random\", \"shape\": [2]}");

    (void)state;
    assert_succeeds(gr_graph_infer(graph));
    assert_false(node_of(graph, "h")->type.known);
    assert_true(node_of(graph, "t")->type.known);
    set_strikes(graph);
    assert_succeeds(gr_graph_infer(graph));
    assert_true(node_of(graph, "h")->type.known);
    assert_false(node_of(graph, "j")->type.known);
    set_species(graph);
    assert_succeeds(gr_graph_infer(graph));
    assert_succeeds(gr_graph_infer(graph));
    assert_int_equal(node_of(graph, "j")->type.schema.count, 7);
    gr_graph_destroy(graph);
}

/* ---- tensors ---- */

/* a (2, 3) float64, v (3,) int64, c (2, 1) float64, m (3, 4) float64 */
#define TENSORS                                                                                                        \
    "\"a\": {\"op\": \"random\", \"shape\": [2, 3]}, \"v\": {\"op\": \"arange\", \"stop\": 3}, "                       \
    "\"c\": {\"op\": \"random\", \"shape\": [2, 1]}, \"m\": {\"op\": \"random\", \"shape\": [3, 4]}, \"x\": {%s}"

static void
tensors_have_shape_and_dtype(void **state)
{
    static const struct {
        const char *node;
        const char *want;
    } cases[] = {
        {"\"op\": \"random\", \"shape\": [4, 5], \"chunk\": [2, 10]", "float64 4 5"},
        {"\"op\": \"random\", \"shape\": [0, 5]", "float64 0 5"},
        {"\"op\": \"arange\", \"stop\": 10", "int64 10"},
        {"\"op\": \"arange\", \"start\": 3, \"stop\": 10, \"step\": 4", "int64 2"},
        {"\"op\": \"arange\", \"start\": 10, \"stop\": 0, \"step\": -3", "int64 4"},
        {"\"op\": \"arange\", \"start\": 10, \"stop\": 0", "int64 0"},
        {"\"op\": \"arange\", \"start\": -9223372036854775808, \"stop\": 9223372036854775807, \"step\":"
         "9223372036854775807",
         "int64 3"},
        {"\"op\": \"arange\", \"stop\": 1, \"step\": 0.25", "float64 4"},
        {"\"op\": \"arange\", \"stop\": 1.0", "float64 1"},
        {"\"op\": \"arange\", \"stop\": 6, \"shape\": [2, 3]", "int64 2 3"},
        {"\"op\": \"add\", \"inputs\": [\"a\", \"v\"]", "float64 2 3"},
        {"\"op\": \"multiply\", \"inputs\": [\"c\", \"v\"]", "float64 2 3"},
        {"\"op\": \"subtract\", \"inputs\": [\"v\", \"v\"]", "int64 3"},
        {"\"op\": \"add\", \"input\": \"v\", \"value\": 1", "int64 3"},
        {"\"op\": \"add\", \"input\": \"v\", \"value\": \"-5\"", "int64 3"},
        {"\"op\": \"full\", \"shape\": [3], \"value\": \"18446744073709551615\"", "uint64 3"},
        {"\"op\": \"full\", \"shape\": [3], \"value\": \"7\"", "int64 3"},
        {"\"op\": \"add\", \"input\": \"v\", \"value\": 1.0", "float64 3"},
        {"\"op\": \"divide\", \"input\": \"v\", \"value\": 2", "float64 3"},
        {"\"op\": \"negative\", \"input\": \"v\"", "int64 3"},
        {"\"op\": \"sqrt\", \"input\": \"v\"", "float64 3"},
        {"\"op\": \"exp\", \"input\": \"a\"", "float64 2 3"},
        {"\"op\": \"log\", \"input\": \"v\"", "float64 3"},
        {"\"op\": \"sum\", \"input\": \"v\"", "int64"},
        {"\"op\": \"sum\", \"input\": \"a\", \"axes\": [0]", "float64 3"},
        {"\"op\": \"sum\", \"input\": \"a\", \"axes\": -1", "float64 2"},
        {"\"op\": \"sum\", \"input\": \"a\", \"axes\": []", "float64 2 3"},
        {"\"op\": \"mean\", \"input\": \"v\"", "float64"},
        {"\"op\": \"mean\", \"input\": \"a\", \"axes\": [1, 0]", "float64"},
        {"\"op\": \"matmul\", \"inputs\": [\"a\", \"m\"]", "float64 2 4"},
        {"\"op\": \"matmul\", \"inputs\": [\"a\", \"v\"]", "float64 2"},
        {"\"op\": \"getitem\", \"inputs\": [\"m\", \"v\"], \"index\": \"$1\"", "float64 3 4"},
        {"\"op\": \"getitem\", \"inputs\": [\"m\", \"v\", \"v\"], \"index\": \"$1, $2\"", "float64 3"},
        {"\"op\": \"getitem\", \"inputs\": [\"a\", \"v\"], \"index\": \"None, :, $1\"", "float64 1 2 3"},
        {"\"op\": \"getitem\", \"input\": \"m\", \"index\": \"[0, 2], 1\"", "float64 2"},
        {"\"op\": \"setitem\", \"inputs\": [\"m\", \"v\", \"v\"], \"index\": \"$2, 1\"", "float64 3 4"},
        {"\"op\": \"interp\", \"inputs\": [\"a\", \"v\", \"v\"]", "float64 2 3"},
        {"\"op\": \"polyfit\", \"inputs\": [\"v\", \"m\"], \"deg\": 1", "float64 2 4"},
        {"\"op\": \"polyval\", \"inputs\": [\"v\", \"v\"]", "int64 3"},
        {"\"op\": \"trapezoid\", \"input\": \"a\", \"axis\": 0", "float64 3"},
        {"\"op\": \"convolve\", \"inputs\": [\"v\", \"v\"]", "int64 5"},
        {"\"op\": \"correlate\", \"inputs\": [\"v\", \"v\"]", "int64 1"},
        {"\"op\": \"norm\", \"input\": \"a\", \"kind\": \"nuc\"", "float64"},
        {"\"op\": \"norm\", \"input\": \"a\", \"axes\": [0, 1], \"keepdims\": true", "float64 1 1"},
        {"\"op\": \"tensor_quantile\", \"input\": \"a\", \"q\": [0, 0.5, 1], \"axis\": 1", "float64 3 2"},
        {"\"op\": \"tensor_quantile\", \"input\": \"a\", \"q\": 1", "float64"},
        {"\"op\": \"histogram2d\", \"inputs\": [\"v\", \"v\"], \"bins\": [2, 5]", "float64 2 5"},
        {"\"op\": \"insert\", \"inputs\": [\"v\", \"v\"], \"indices\": [0, 1, -1]", "int64 6"},
        {"\"op\": \"delete\", \"input\": \"m\", \"indices\": [0, 0, -1], \"axis\": 1", "float64 3 2"},
        {"\"op\": \"append\", \"inputs\": [\"a\", \"v\"]", "float64 9"},
        {"\"op\": \"random\", \"distribution\": \"multinomial\", \"shape\": [4, 2], \"pvals\": [0.5, 1]", "int64 4 2"},
        {"\"op\": \"unique\", \"input\": \"a\", \"axis\": 0", "float64 -1 3"},
        {"\"op\": \"unique\", \"input\": \"v\", \"part\": \"index\"", "int64 -1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048];
        struct gr_graph *graph;
        const struct gr_node_type *type;
        struct gr_buf out = {0};

        (void)snprintf(text, sizeof text, TENSORS, cases[i].node);
        graph = create(text);
        assert_succeeds(gr_graph_infer(graph));
        type = &node_of(graph, "x")->type;
        assert_true(type->known);
        assert_true(type->is_tensor);
        gr_buf_addf(&out, "%s", granary_dtype_name(type->dtype));
        for (int j = 0; j < type->dims; j++) {
            gr_buf_addf(&out, " %lld", (long long)type->shape[j]);
        }
        assert_string_equal(out.bytes, cases[i].want);
        gr_buf_free(&out);
        gr_graph_destroy(graph);
    }
}

static void
wrong_tensors_are_told_with_their_shapes(void **state)
{
    static const struct {
        const char *node;
        const char *want;
    } cases[] = {
        {"\"op\": \"random\", \"shape\": []", "parameter 'shape' has 0 dimensions; 1 to 8 are possible"},
        {"\"op\": \"random\", \"shape\": [1,1,1,1,1,1,1,1,1]", "parameter 'shape' has 9 dimensions"},
        {"\"op\": \"random\", \"shape\": [2, -1]", "has -1 elements along dimension 1"},
        {"\"op\": \"random\", \"shape\": [4294967296, 4294967296]",
         "a tensor of shape (4294967296, 4294967296) is larger than any memory"},
        {"\"op\": \"random\", \"shape\": [9223372036854775807]", "is larger than any memory"},
        {"\"op\": \"random\", \"shape\": [4], \"chunk\": [2, 2]",
         "parameter 'chunk' has 2 dimensions, but the tensor 1"},
        {"\"op\": \"random\", \"shape\": [4], \"chunk\": [0]", "parameter 'chunk' is 0 along dimension 0"},
        {"\"op\": \"arange\", \"stop\": 9223372036854775807", "more than any memory holds"},
        {"\"op\": \"arange\", \"stop\": 1e300", "more than any memory holds"},
        {"\"op\": \"arange\", \"stop\": 1, \"step\": 1e-300", "more than any memory holds"},
        {"\"op\": \"arange\", \"stop\": 5, \"shape\": [2, 3]",
         "the range has 5 elements, which do not fill shape (2, 3)"},
        {"\"op\": \"add\", \"inputs\": [\"a\", \"m\"]", "shapes (2, 3) and (3, 4) do not fit together"},
        {"\"op\": \"sum\", \"input\": \"a\", \"axes\": [2]",
         "parameter 'axes': there is no axis 2 in a tensor of 2 dimensions"},
        {"\"op\": \"sum\", \"input\": \"v\", \"axes\": [-2]", "there is no axis -2 in a tensor of 1 dimension"},
        {"\"op\": \"mean\", \"input\": \"a\", \"axes\": [1, -1]", "parameter 'axes' names axis 1 twice"},
        {"\"op\": \"matmul\", \"inputs\": [\"v\", \"a\"]",
         "shapes (1, 3) and (2, 3) do not fit: 3 columns meet 2 rows"},
        {"\"op\": \"matmul\", \"inputs\": [\"m\", \"a\"]",
         "shapes (3, 4) and (2, 3) do not fit: 4 columns meet 2 rows"},
        {"\"op\": \"getitem\", \"inputs\": [\"a\", \"v\"], \"index\": \"$2\"", "'$2' is no input from $1 on"},
        {"\"op\": \"getitem\", \"inputs\": [\"a\", \"v\"], \"index\": \":\"",
         "input 1 stands nowhere in parameter 'index'"},
        {"\"op\": \"getitem\", \"inputs\": [\"a\", \"m\"], \"index\": \"$1\"",
         "$1 is a tensor of float64; positions are integers, and masks bool"},
        {"\"op\": \"getitem\", \"input\": \"a\", \"index\": \"[0, 1\"", "'[0, 1' is no list"},
        {"\"op\": \"getitem\", \"inputs\": [\"a\", \"v\"], \"index\": \"$1, 0, 0\"",
         "takes 3 dimensions of a tensor that has 2"},
        {"\"op\": \"setitem\", \"inputs\": [\"m\", \"v\", \"v\"], \"index\": \"None, $2\"",
         "None cannot be set beside arrays"},
        {"\"op\": \"tensor_quantile\", \"input\": \"a\", \"q\": []", "parameter 'q' has 0 numbers"},
        {"\"op\": \"insert\", \"inputs\": [\"v\", \"v\"], \"indices\": [4]", "4 is out of bounds of 3 elements"},
        {"\"op\": \"delete\", \"input\": \"v\"",
         "it needs a second input, a mask of what goes, or parameter 'indices'"},
        {"\"op\": \"convolve\", \"inputs\": [\"a\", \"v\"]",
         "two vectors that are not empty, not tensors of shapes (2, 3) and (3,)"},
        {"\"op\": \"polyfit\", \"inputs\": [\"v\", \"v\"], \"deg\": 1000",
         "parameter 'deg' is 1000; it can be up to 999"},
        {"\"op\": \"histogram2d\", \"inputs\": [\"v\", \"v\"], \"bins\": [16777216]", "bins are more than 16777216"},
        {"\"op\": \"random\", \"distribution\": \"dirichlet\", \"shape\": [3, 2], \"alphas\": [1, 2, 3]",
         "its last dimension is a row of 3 numbers"},
        {"\"op\": \"matrix_power\", \"input\": \"m\", \"n\": -1", "a square matrix for a negative power"},
        {"\"op\": \"unique\", \"input\": \"a\", \"axis\": 1", "parameter 'axis' is 0"},
        {"\"op\": \"norm\", \"input\": \"v\", \"axes\": [0, 1]", "there is no axis 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048];
        struct gr_graph *graph;

        (void)snprintf(text, sizeof text, TENSORS, cases[i].node);
        graph = create(text);
        assert_fails(gr_graph_infer(graph), GRANARY_EINVAL, cases[i].want);
        assert_non_null(strstr(granary_error_message(), "node 'x' ("));
        gr_graph_destroy(graph);
    }
}

/* A broadcast of two that fit can be too large. */
static void
sizes_do_not_overflow_by_broadcasting(void **state)
{
    struct gr_graph *graph =
        create("\"r\": {\"op\": \"random\", \"shape\": [4294967296, 1]}, \"c\": {\"op\": \"random\","
               "\"shape\": [1, 4294967296]}, \"x\": {\"op\": \"add\", \"inputs\": [\"r\", \"c\"]}");

    (void)state;
    assert_fails(gr_graph_infer(graph), GRANARY_EINVAL, "node 'x' (add): a tensor of shape (4294967296, 4294967296)");
    gr_graph_destroy(graph);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_have_the_columns_their_operators_give),
        cmocka_unit_test(wrong_frames_are_told_with_node_and_column),
        cmocka_unit_test(unknown_files_leave_their_readers_unknown),
        cmocka_unit_test(tensors_have_shape_and_dtype),
        cmocka_unit_test(wrong_tensors_are_told_with_their_shapes),
        cmocka_unit_test(sizes_do_not_overflow_by_broadcasting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
