/*
 * Join by hashing the right side. Rows come in the order of the left side; matches of one row in the order of the right
 * side. A null key matches nothing; NaN matches NaN, as in pandas.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/join.h"
#include "kernel/frame_call.h"
#include "kernel/hash.h"

/* Rows of the right side by group: those of group g are rows[starts[g]] to rows[starts[g + 1] - 1], in order. */
struct buckets {
    int64_t *starts;
    int64_t *rows;
};

static void
buckets_fini(struct buckets *buckets)
{
    free(buckets->starts);
    free(buckets->rows);
}

static granary_err
buckets_init(struct buckets *buckets, const struct grouping *grouping)
{
    int64_t rows = grouping->keys->rows;
    int64_t *next;

    buckets->starts = calloc(grouping->groups + 2, sizeof *buckets->starts);
    buckets->rows = malloc((size_t)(rows > 0 ? rows : 1) * sizeof *buckets->rows);
    if (buckets->starts == NULL || buckets->rows == NULL) {
        return gr_fail(GRANARY_ENOMEM, "join: out of memory for %lld rows", (long long)rows);
    }
    /* Counted two places ahead, so that after the filling each start is where it belongs. */
    next = buckets->starts + 1;
    for (int64_t row = 0; row < rows; row++) {
        if (grouping->ids[row] != GROUP_NONE) {
            next[grouping->ids[row] + 1]++;
        }
    }
    for (size_t group = 0; group < grouping->groups; group++) {
        next[group + 1] += next[group];
    }
    for (int64_t row = 0; row < rows; row++) {
        if (grouping->ids[row] != GROUP_NONE) {
            buckets->rows[next[grouping->ids[row]]++] = row;
        }
    }
    return GRANARY_OK;
}

/* Pairs of rows of the result; a right row of -1 is none. */
struct matches {
    int64_t *left;
    int64_t *right;
    int64_t count;
};

static void
matches_fini(struct matches *matches)
{
    free(matches->left);
    free(matches->right);
}

static granary_err
matches_init(struct matches *matches, const struct buckets *buckets, const uint32_t *ids, int64_t left_rows,
             bool keep_left)
{
    int64_t total = 0;
    int64_t at = 0;

    for (int64_t row = 0; row < left_rows; row++) {
        int64_t found = ids[row] == GROUP_NONE ? 0 : buckets->starts[ids[row] + 1] - buckets->starts[ids[row]];

        total += found == 0 ? keep_left : found;
    }
    matches->left = malloc((size_t)(total > 0 ? total : 1) * sizeof *matches->left);
    matches->right = malloc((size_t)(total > 0 ? total : 1) * sizeof *matches->right);
    if (matches->left == NULL || matches->right == NULL) {
        return gr_fail(GRANARY_ENOMEM, "join: out of memory for a result of %lld rows", (long long)total);
    }
    for (int64_t row = 0; row < left_rows; row++) {
        if (ids[row] == GROUP_NONE) {
            if (keep_left) {
                matches->left[at] = row;
                matches->right[at++] = -1;
            }
            continue;
        }
        for (int64_t i = buckets->starts[ids[row]]; i < buckets->starts[ids[row] + 1]; i++) {
            matches->left[at] = row;
            matches->right[at++] = buckets->rows[i];
        }
    }
    matches->count = total;
    return GRANARY_OK;
}

/* A column of the left side that is a key of no dtype, or the other way round, has no matches. */
static bool
keys_comparable(const granary_column *const *left, const granary_column *const *right, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (left[i]->dtype != right[i]->dtype) {
            return false;
        }
    }
    return true;
}

static granary_err
match(const granary_column *const *left, int64_t left_rows, const granary_column *const *right, int64_t right_rows,
      const struct gr_join *join, struct matches *matches)
{
    struct key_set left_keys = {0};
    struct key_set right_keys = {0};
    struct grouping grouping = {0};
    struct buckets buckets = {0};
    uint32_t *ids = malloc((size_t)(left_rows > 0 ? left_rows : 1) * sizeof *ids);
    granary_err err = ids != NULL ? key_set_init(left, join->key_count, left_rows, &left_keys)
                                  : gr_fail(GRANARY_ENOMEM, "join: out of memory for %lld rows", (long long)left_rows);

    if (err == GRANARY_OK) {
        err = key_set_init(right, join->key_count, right_rows, &right_keys);
    }
    if (err == GRANARY_OK) {
        err = grouping_build(&right_keys, &grouping);
    }
    if (err == GRANARY_OK) {
        err = buckets_init(&buckets, &grouping);
    }
    if (err == GRANARY_OK) {
        if (keys_comparable(left, right, join->key_count)) {
            grouping_probe(&grouping, &left_keys, ids);
        } else {
            memset(ids, 0xff, (size_t)left_rows * sizeof *ids); /* GROUP_NONE */
        }
        err = matches_init(matches, &buckets, ids, left_rows, join->left);
    }
    buckets_fini(&buckets);
    grouping_fini(&grouping);
    key_set_fini(&right_keys);
    key_set_fini(&left_keys);
    free(ids);
    return err;
}

static granary_err
schema_of(const granary_frame *frame, struct gr_schema *ret_schema)
{
    struct gr_schema schema = {0};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < frame->count && err == GRANARY_OK; i++) {
        err = gr_schema_add(&schema, frame->columns[i].view.name, frame->columns[i].view.dtype);
    }
    if (err != GRANARY_OK) {
        gr_schema_free(&schema);
        return err;
    }
    *ret_schema = schema;
    return GRANARY_OK;
}

/* The result's columns, named and checked by the rule that the planner follows, too. */
static granary_err
result_schema(const struct gr_join *join, const granary_frame *left, const granary_frame *right,
              struct gr_schema *ret_schema)
{
    struct gr_schema left_schema = {0};
    struct gr_schema right_schema = {0};
    granary_err err = schema_of(left, &left_schema);

    if (err == GRANARY_OK) {
        err = schema_of(right, &right_schema);
    }
    if (err == GRANARY_OK) {
        err = gr_join_schema(join, &left_schema, &right_schema, ret_schema);
    }
    gr_schema_free(&left_schema);
    gr_schema_free(&right_schema);
    return err;
}

static granary_err
gather(const struct gr_join *join, const granary_frame *left, const granary_frame *right, const struct matches *matches,
       const struct gr_schema *schema, granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(schema->count, matches->count);
    size_t at = 0;
    granary_err err = GRANARY_OK;

    if (frame == NULL) {
        return gr_fail(GRANARY_ENOMEM, "join: out of memory for %zu columns", schema->count);
    }
    for (size_t i = 0; i < left->count + right->count && err == GRANARY_OK; i++) {
        bool is_left = i < left->count;
        const granary_column *column = is_left ? &left->columns[i].view : &right->columns[i - left->count].view;
        struct gr_column taken;

        if (!is_left && !gr_join_keeps(join, column->name)) {
            continue;
        }
        err = gr_column_take(column, is_left ? matches->left : matches->right, matches->count, &taken);
        if (err == GRANARY_OK) {
            err = gr_frame_set(frame, at, schema->fields[at].name, &taken);
            at++;
        }
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

static granary_err
frames_join(const struct gr_join *join, const granary_frame *left, const granary_frame *right,
            granary_frame **ret_frame)
{
    const granary_column **left_keys = NULL;
    const granary_column **right_keys = NULL;
    struct gr_schema schema = {0};
    struct matches matches = {0};
    granary_err err = result_schema(join, left, right, &schema);

    if (err == GRANARY_OK) {
        err = frame_columns(left, join->left_on, join->key_count, &left_keys);
    }
    if (err == GRANARY_OK) {
        err = frame_columns(right, join->right_on, join->key_count, &right_keys);
    }
    if (err == GRANARY_OK) {
        err = match(left_keys, left->rows, right_keys, right->rows, join, &matches);
    }
    if (err == GRANARY_OK) {
        err = gather(join, left, right, &matches, &schema, ret_frame);
    }
    matches_fini(&matches);
    free(right_keys);
    free(left_keys);
    gr_schema_free(&schema);
    return err;
}

granary_err
kernel_join(struct gr_kernel_call *call)
{
    const granary_frame *left;
    const granary_frame *right;
    granary_frame *frame = NULL;
    struct gr_join join;
    granary_err err = call_frame(call, 0, &left);

    if (err == GRANARY_OK) {
        err = call_frame(call, 1, &right);
    }
    if (err == GRANARY_OK) {
        err = gr_join_parse(call->op->attrs, call->op->n_attrs, &join);
    }
    if (err == GRANARY_OK) {
        err = frames_join(&join, left, right, &frame);
    }
    return err == GRANARY_OK ? call_yield(call, 0, frame) : err;
}
