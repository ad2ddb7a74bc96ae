#include "join_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/join.h"

static struct gr_schema
schema_of(const granary_frame *frame)
{
    struct gr_schema schema = {0};

    for (size_t i = 0; i < frame->count; i++) {
        assert_int_equal(gr_schema_add(&schema, frame->columns[i].view.name, frame->columns[i].view.dtype), GRANARY_OK);
    }
    return schema;
}

/* A mapping of columns to where they come from, as the planner writes it. */
static Granary__Attr *
sources_of(const char *name, const struct gr_join_column *columns, size_t count, const granary_frame *left,
           const granary_frame *right)
{
    char *names[64];
    char *sources[64];
    Granary__Attr *attr;

    assert_true(count <= 64);
    for (size_t i = 0; i < count; i++) {
        char text[256];

        if (columns[i].left >= 0) {
            (void)snprintf(text, sizeof text, "probe.%s", left->columns[columns[i].left].view.name);
        } else if (columns[i].right >= 0) {
            (void)snprintf(text, sizeof text, "built.%s", right->columns[columns[i].right].view.name);
        } else {
            (void)snprintf(text, sizeof text, "indicator.left_only");
        }
        names[i] = columns[i].name;
        sources[i] = strdup(text);
    }
    attr = gr_attr_new_map(name, names, sources, count);
    for (size_t i = 0; i < count; i++) {
        free(sources[i]);
    }
    return attr;
}

static void
kernel_test_bool(struct kernel_test *test, const char *name, bool value)
{
    kernel_test_attr(test, gr_attr_new_bool(name, value));
}

/* The keys' dtypes, as the planner finds them: "int64,string". */
static void
add_types(struct kernel_test *test, const granary_frame *left, const granary_frame *right, const struct way *way)
{
    char *l = strdup(way->left_on);
    char *r = strdup(way->right_on);
    char *save_l = NULL;
    char *save_r = NULL;
    char *right_name = strtok_r(r, ",", &save_r);
    char types[256] = "";

    for (char *left_name = strtok_r(l, ",", &save_l); left_name != NULL;
         left_name = strtok_r(NULL, ",", &save_l), right_name = strtok_r(NULL, ",", &save_r)) {
        int at = gr_frame_find(left, left_name);
        int other = gr_frame_find(right, right_name);
        granary_dtype dtype = GRANARY_INT64;

        if (at >= 0 && other >= 0) {
            assert_int_equal(gr_join_key_dtype(left->columns[at].view.dtype, right->columns[other].view.dtype, &dtype),
                             GRANARY_OK);
        }
        (void)snprintf(types + strlen(types), sizeof types - strlen(types), "%s%s", types[0] == 0 ? "" : ",",
                       granary_dtype_name(dtype));
    }
    kernel_test_strings(test, "types", types);
    free(l);
    free(r);
}

void
join_start_build(struct kernel_test *test, const granary_frame *left, granary_frame *const *pieces, int count,
                 const granary_frame *right, const struct way *way, int part)
{
    kernel_test_init(test, "join_build");
    kernel_test_strings(test, "keys", way->right_on);
    add_types(test, left, right, way);
    kernel_test_attr(test, gr_attr_new_int("part", part));
    kernel_test_attr(test, gr_attr_new_int("parts", way->parts == 0 ? 1 : way->parts));
    kernel_test_bool(test, "unique", way->unique);
    for (int i = 0; i < count; i++) {
        kernel_test_frame(test, pieces[i]);
    }
}

void
join_start_probe(struct kernel_test *test, const granary_frame *left, granary_frame *const *pieces, int count,
                 const granary_frame *right, const struct way *way, const struct kernel_test *builds)
{
    struct gr_schema schemas[2] = {schema_of(left), schema_of(right)};
    struct gr_join_column *columns;
    size_t column_count;
    char on[2][64];
    char *keys[2] = {on[0], on[1]};
    struct gr_join join = {.left_suffix = "_x", .right_suffix = "_y", .indicator = way->indicator};
    char *save = NULL;
    char *copy = strdup(way->left_on);

    /* Keys of one name come once. */
    if (strcmp(way->left_on, way->right_on) == 0) {
        for (char *key = strtok_r(copy, ",", &save); key != NULL; key = strtok_r(NULL, ",", &save)) {
            assert_true(join.key_count < 2 || strlen(key) < 64);
            (void)snprintf(on[join.key_count % 2], sizeof on[0], "%s", key);
            join.key_count++;
        }
        join.key_count = join.key_count < 2 ? join.key_count : 2;
        join.left_on = join.right_on = keys;
    }
    free(copy);
    while (join.how < GR_JOIN_CROSS && strcmp(gr_join_how_name(join.how), way->how) != 0) {
        join.how++;
    }
    assert_int_equal(gr_join_columns(&join, &schemas[0], &schemas[1], &columns, &column_count), GRANARY_OK);
    kernel_test_init(test, "join_probe");
    kernel_test_attr(test, sources_of("result", columns, column_count, left, right));
    gr_join_columns_free(columns, column_count);
    kernel_test_attr(test, gr_attr_new_string("how", way->how));
    kernel_test_strings(test, "keys", way->left_on);
    kernel_test_attr(test, gr_attr_new_int("parts", way->parts == 0 ? 1 : way->parts));
    kernel_test_bool(test, "null_aware", way->null_aware);
    if (way->filter != NULL) {
        kernel_test_attr(test, gr_attr_new_string("filter", way->filter));
    }
    if (way->where != NULL) {
        assert_int_equal(gr_join_pair_columns(&join, &schemas[0], &schemas[1], &columns, &column_count), GRANARY_OK);
        kernel_test_attr(test, gr_attr_new_string("where", way->where));
        kernel_test_attr(test, sources_of("where_columns", columns, column_count, left, right));
        gr_join_columns_free(columns, column_count);
    }
    kernel_test_frame(test, left);
    for (int i = 0; i < count; i++) {
        kernel_test_frame(test, pieces[i]);
    }
    for (int part = 0; builds != NULL && part < (way->parts == 0 ? 1 : way->parts); part++) {
        kernel_test_bytes(test, &builds[part].outputs[0]);
    }
    gr_schema_free(&schemas[0]);
    gr_schema_free(&schemas[1]);
}

void
frame_cut(const granary_frame *frame, int count, granary_frame **ret_pieces)
{
    int64_t at = 0;

    for (int i = 0; i < count; i++) {
        int64_t to = frame->rows * (i + 1) / count;

        assert_int_equal(gr_frame_slice(frame, at, to - at, &ret_pieces[i]), GRANARY_OK);
        at = to;
    }
}

granary_frame *
joined_in_a_way(const granary_frame *left, const granary_frame *right, struct way way)
{
    struct kernel_test builds[4];
    struct kernel_test probe;
    granary_frame *pieces[8];
    granary_frame *result;
    granary_frame *copy;
    int parts = way.parts == 0 ? 1 : way.parts;
    int count = way.pieces == 0 ? 1 : way.pieces;
    bool is_cross = strcmp(way.how, "cross") == 0;

    frame_cut(right, count, pieces);
    for (int part = 0; part < parts && !is_cross; part++) {
        join_start_build(&builds[part], left, pieces, count, right, &way, part);
        if (kernel_test_run(&builds[part], run_join_build) != GRANARY_OK) {
            fail_msg("join_build: %s", granary_error_message());
        }
    }
    join_start_probe(&probe, left, pieces, count, right, &way, is_cross ? NULL : builds);
    result = kernel_test_to_frame(&probe, run_join_probe);
    assert_int_equal(gr_frame_slice(result, 0, result->rows, &copy), GRANARY_OK);
    gr_frame_destroy(result);
    for (int part = 0; part < parts && !is_cross; part++) {
        kernel_test_fini(&builds[part]);
    }
    for (int i = 0; i < count; i++) {
        gr_frame_destroy(pieces[i]);
    }
    return copy;
}

granary_frame *
joined(const granary_frame *left, const granary_frame *right, const char *left_on, const char *right_on,
       const char *how)
{
    return joined_in_a_way(left, right, (struct way){.left_on = left_on, .right_on = right_on, .how = how});
}

void
assert_joined(const granary_frame *left, const granary_frame *right, struct way way, const char *csv)
{
    granary_frame *result = joined_in_a_way(left, right, way);

    assert_frame(result, csv);
    gr_frame_destroy(result);
}
