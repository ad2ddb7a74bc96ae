/*
 * Tensors whose size is found when they are made: what is left of rows of a frame, whose number need not be known.
 */
#include <string.h>

#include "graph/rewrite/private.h"
#include "graph/tensor/types.h"

#define UNIQUE_COLUMNS 256

static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8"};

/* A column of a frame as a tensor of one dimension. */
static struct gr_node *
column(struct rewrite *x, struct gr_node *frame, size_t which)
{
    return rewrite_add(x, GR_TILE_to_tensor, frame, NULL, rewrite_strings(x, "columns", &names[which], 1),
                       rewrite_bool(x, "flat", true));
}

/* Vectors of as many elements as columns; those rows where the last one is not 0. */
static struct gr_node *
rows_where(struct rewrite *x, struct gr_node *const *vectors, size_t count)
{
    bool flags = vectors[0]->type.dtype == GRANARY_BOOL;
    char where[16] = "`1` != 0";
    struct gr_node *table;

    rewrite_set(x, rewrite_int(x, "axis", 1));
    table = rewrite_add_many(x, GR_TILE_stack, vectors, count);
    (void)memcpy(where + 1, names[count - 1], 1);
    where[3] = flags ? '\0' : where[3];
    table = rewrite_add(x, GR_TILE_from_tensor, table, NULL, rewrite_strings(x, "columns", names, count), NULL);
    return rewrite_add(x, GR_TILE_filter, table, NULL, rewrite_string(x, "where", where), NULL);
}

/* Elements for which the mask, of the same shape, is not 0. */
static struct gr_node *
masked(struct rewrite *x, struct gr_node *a, struct gr_node *mask)
{
    struct gr_node *vectors[2] = {rewrite_flat(x, a), rewrite_flat(x, mask)};

    if (mask->type.dtype != GRANARY_BOOL) {
        vectors[1] = rewrite_value(x, GR_TILE_not_equal, vectors[1], 0);
    }
    if (gr_dtype_is_complex(a->type.dtype)) { /* frames have no such columns */
        return rewrite_binary(x, GR_TILE_take_at, vectors[0], rewrite_unary(x, GR_TILE_flatnonzero, vectors[1]));
    }
    vectors[1] = rewrite_astype(x, vectors[1], a->type.dtype);
    return column(x, rows_where(x, vectors, 2), 0);
}

static struct gr_node *
rewrite_select_where(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0), *mask = rewrite_input(x, 1);
    const struct gr_node_type *left = &a->type, *right = &mask->type;

    if (left->dims != right->dims ||
        memcmp(left->shape, right->shape, (size_t)left->dims * sizeof left->shape[0]) != 0) {
        return rewrite_fail(x, "the mask has not the shape of what it is for");
    }
    return masked(x, a, mask);
}

const struct gr_operator gr_op_select_where = {.rewrite = rewrite_select_where};

static struct gr_node *
rewrite_flatnonzero(struct rewrite *x)
{
    struct gr_node *a = rewrite_flat(x, rewrite_input(x, 0));

    return x->err == GRANARY_OK ? masked(x, rewrite_range(x, a->type.shape[0]), a) : x->node;
}

const struct gr_operator gr_op_flatnonzero = {.rewrite = rewrite_flatnonzero};

/* Beside each element its position, one column a dimension. */
static struct gr_node *
rewrite_argwhere(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    const struct gr_node_type *type = &a->type;
    struct gr_node *vectors[9];
    int64_t shape[8];
    int dims = type->dims;

    memcpy(shape, type->shape, sizeof shape);
    if (dims == 0) {
        return rewrite_fail(x, "it needs a dimension");
    }
    for (int d = 0; d < dims; d++) {
        int64_t own[8] = {1, 1, 1, 1, 1, 1, 1, 1};

        own[d] = shape[d];
        vectors[d] = rewrite_reshape(x, rewrite_range(x, shape[d]), own, (size_t)dims);
        vectors[d] =
            rewrite_add(x, GR_TILE_broadcast_to, vectors[d], NULL, rewrite_ints(x, "shape", shape, (size_t)dims), NULL);
        vectors[d] = rewrite_flat(x, vectors[d]);
    }
    vectors[dims] = rewrite_flat(x, rewrite_value(x, GR_TILE_not_equal, a, 0));
    vectors[dims] = rewrite_astype(x, vectors[dims], GRANARY_INT64);
    return rewrite_add(x, GR_TILE_to_tensor, rows_where(x, vectors, (size_t)dims + 1), NULL,
                       rewrite_strings(x, "columns", names, (size_t)dims), NULL);
}

const struct gr_operator gr_op_argwhere = {.rewrite = rewrite_argwhere};

/* Each value of vectors once, ascending, and how often it comes. */
static struct gr_node *
groups(struct rewrite *x, struct gr_node *vector)
{
    struct gr_node *table =
        rewrite_add(x, GR_TILE_from_tensor, vector, NULL, rewrite_strings(x, "columns", names, 1), NULL);

    rewrite_entry(x, "n", "size");
    return rewrite_add(x, GR_TILE_groupby, table, NULL, rewrite_strings(x, "keys", names, 1),
                       rewrite_map(x, "aggregate"));
}

static struct gr_node *
unique_of(struct rewrite *x, struct gr_node *vector)
{
    return column(x, groups(x, vector), 0);
}

/* The first dimension's parts as rows of a frame that has no other columns. */
static struct gr_node *
rows_of(struct rewrite *x, struct gr_node *a, const char **ret_names, size_t *ret_count)
{
    int64_t columns = a->type.dims == 2 ? a->type.shape[1] : 1;

    if (columns < 1 || columns > UNIQUE_COLUMNS) {
        return rewrite_fail(x, "rows have %lld elements; 1 to %d are possible", (long long)columns, UNIQUE_COLUMNS);
    }
    for (int64_t c = 0; c < columns; c++) {
        ret_names[c] = rewrite_text(x, "%lld", (long long)c);
    }
    *ret_count = (size_t)columns;
    return rewrite_add(x, GR_TILE_from_tensor, a, NULL, rewrite_strings(x, "columns", ret_names, (size_t)columns),
                       NULL);
}

/* Different rows in order, with what `aggregate` says of each. */
static struct gr_node *
different(struct rewrite *x, struct gr_node *rows, const char *const *columns, size_t count, const char *aggregate)
{
    rewrite_entry(x, "n", aggregate);
    return rewrite_add(x, GR_TILE_groupby, rows, NULL, rewrite_strings(x, "keys", columns, count),
                       rewrite_map(x, "aggregate"));
}

/* A number for each row: that of its like among the different ones. */
static struct gr_node *
numbers_of_rows(struct rewrite *x, struct gr_node *rows, const char *const *columns, size_t count)
{
    rewrite_entry(x, "n", "dense_rank()");
    rewrite_set(x, rewrite_map(x, "columns"));
    rewrite_set(x, rewrite_bool(x, "nan_largest", true));
    return rewrite_add(x, GR_TILE_window, rows, NULL, rewrite_strings(x, "by", columns, count), NULL);
}

static struct gr_node *
unique_rows(struct rewrite *x, struct gr_node *a)
{
    const char *names_of_columns[UNIQUE_COLUMNS];
    static const char *const number[] = {"n"};
    size_t count = 0;
    struct gr_node *rows;
    int64_t size = a->type.shape[0];

    if (a->type.dims < 1 || a->type.dims > 2 || rewrite_axis(x, "axis", a->type.dims) != 0) {
        return rewrite_fail(x, "parameter 'axis' is 0, the first of one dimension or two: use transpose and reshape");
    }
    rows = rows_of(x, a, names_of_columns, &count);
    if (x->err != GRANARY_OK) {
        return rows;
    }
    if (rewrite_param_is(x, "part", "inverse")) {
        rows = numbers_of_rows(x, rows, names_of_columns, count);
        if (!gr_type_is_unsized(&a->type)) {
            rewrite_set(x, rewrite_int(x, "rows", size));
        }
        rows = rewrite_add(x, GR_TILE_to_tensor, rows, NULL, rewrite_strings(x, "columns", number, 1),
                           rewrite_bool(x, "flat", true));
        return rewrite_value(x, GR_TILE_subtract, rewrite_astype(x, rows, GRANARY_INT64), 1);
    }
    if (rewrite_param_is(x, "part", "index")) {
        rows = rewrite_add(x, GR_TILE_reset_index, rows, NULL, rewrite_string(x, "name", "at"), NULL);
    }
    rows = different(x, rows, names_of_columns, count, rewrite_param_is(x, "part", "index") ? "min(at)" : "size");
    if (!rewrite_param_is(x, "part", "values")) {
        return rewrite_add(x, GR_TILE_to_tensor, rows, NULL, rewrite_strings(x, "columns", number, 1),
                           rewrite_bool(x, "flat", true));
    }
    return rewrite_add(x, GR_TILE_to_tensor, rows, NULL, rewrite_strings(x, "columns", names_of_columns, count),
                       rewrite_bool(x, "flat", a->type.dims == 1));
}

/* Where each value comes first. */
static struct gr_node *
first_places(struct rewrite *x, struct gr_node *vector)
{
    static const char *const number[] = {"n"};
    struct gr_node *rows =
        rewrite_add(x, GR_TILE_from_tensor, vector, NULL, rewrite_strings(x, "columns", names, 1), NULL);

    rows = rewrite_add(x, GR_TILE_reset_index, rows, NULL, rewrite_string(x, "name", "at"), NULL);
    return rewrite_add(x, GR_TILE_to_tensor, different(x, rows, names, 1, "min(at)"), NULL,
                       rewrite_strings(x, "columns", number, 1), rewrite_bool(x, "flat", true));
}

static struct gr_node *
rewrite_unique(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);

    if (rewrite_param(x, "axis") != NULL) {
        return unique_rows(x, a);
    }
    if (rewrite_param_is(x, "part", "index")) {
        return first_places(x, rewrite_flat(x, a));
    }
    if (rewrite_param_is(x, "part", "values")) {
        return unique_of(x, rewrite_flat(x, a));
    }
    if (rewrite_param_is(x, "part", "counts")) {
        static const char *const counts[] = {"n"};

        return rewrite_add(x, GR_TILE_to_tensor, groups(x, rewrite_flat(x, a)), NULL,
                           rewrite_strings(x, "columns", counts, 1), rewrite_bool(x, "flat", true));
    }
    return rewrite_binary(x, GR_TILE_searchsorted, unique_of(x, rewrite_flat(x, a)), a);
}

const struct gr_operator gr_op_unique = {.traits = GR_OP_TAKES_UNSIZED, .rewrite = rewrite_unique};

/* ---- rows ---- */

#define ROW_COLUMNS 64 /* rows of more elements are looked up */

/* Rows of a matrix where the mask is true, as a frame whose last column is the mask. */
static struct gr_node *
rows_of_matrix(struct rewrite *x, struct gr_node *matrix, struct gr_node *mask)
{
    int64_t columns = matrix->type.shape[1];
    const char *called[ROW_COLUMNS + 1];
    struct gr_node *rows = rewrite_reshape(x, rewrite_astype(x, mask, matrix->type.dtype), (int64_t[]){-1, 1}, 2);
    bool flags = matrix->type.dtype == GRANARY_BOOL;

    for (int64_t c = 0; c <= columns; c++) {
        called[c] = rewrite_text(x, "%lld", (long long)c);
    }
    rows = rewrite_add(x, GR_TILE_concatenate, matrix, rows, rewrite_int(x, "axis", 1), NULL);
    rows = rewrite_add(x, GR_TILE_from_tensor, rows, NULL, rewrite_strings(x, "columns", called, (size_t)columns + 1),
                       NULL);
    rows = rewrite_add(
        x, GR_TILE_filter, rows, NULL,
        rewrite_string(x, "where", rewrite_text(x, "`%lld`%s", (long long)columns, flags ? "" : " != 0")), NULL);
    return rewrite_add(x, GR_TILE_to_tensor, rows, NULL, rewrite_strings(x, "columns", called, (size_t)columns), NULL);
}

struct gr_node *
rewrite_rows_where(struct rewrite *x, struct gr_node *a, struct gr_node *mask)
{
    int dims = mask->type.dims, rest = a->type.dims - dims;
    int64_t shape[8] = {1};

    if (rest == 0) {
        return masked(x, a, mask);
    }
    for (int d = 0; d < dims; d++) {
        shape[0] *= mask->type.shape[d];
    }
    memcpy(shape + 1, a->type.shape + dims, (size_t)rest * sizeof shape[0]);
    a = dims == 1 ? a : rewrite_reshape(x, a, shape, (size_t)rest + 1);
    mask = rewrite_flat(x, mask);
    if (x->err == GRANARY_OK && rest == 1 && shape[1] > 0 && shape[1] <= ROW_COLUMNS &&
        !gr_dtype_is_complex(a->type.dtype)) {
        return rows_of_matrix(x, a, mask);
    }
    return rewrite_binary(x, GR_TILE_take_at, a, rewrite_unary(x, GR_TILE_flatnonzero, mask));
}

/* ---- sets ---- */

REWRITE_AS(union1d, unique_of(x, rewrite_add(x, GR_TILE_concatenate, rewrite_flat(x, rewrite_input(x, 0)),
                                             rewrite_flat(x, rewrite_input(x, 1)), rewrite_int(x, "axis", 0), NULL)))

static struct gr_node *
chosen(struct rewrite *x, bool invert, granary_dtype dtype)
{
    struct gr_node *a = rewrite_astype(x, rewrite_flat(x, rewrite_input(x, 0)), dtype);
    struct gr_node *mask =
        rewrite_add(x, GR_TILE_isin, a, rewrite_input(x, 1), rewrite_bool(x, "invert", invert), NULL);
    struct gr_node *table = masked(x, a, mask);

    return unique_of(x, table);
}

REWRITE_AS(intersect1d,
           chosen(x, false, gr_dtype_promote(rewrite_input(x, 0)->type.dtype, rewrite_input(x, 1)->type.dtype)))
REWRITE_AS(setdiff1d, chosen(x, true, rewrite_input(x, 0)->type.dtype))
