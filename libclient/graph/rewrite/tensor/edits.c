/* insert, delete, append: runs of a tensor along an axis, put together otherwise. */
#include <stdlib.h>
#include <string.h>

#include "graph/infer/private.h"
#include "graph/rewrite/private.h"
#include "graph/tensor/types.h"

#define RUNS 1000 /* inputs that concatenate takes */

/* The tensor, and its axis: flat without the parameter. */
static struct gr_node *
with_axis(struct rewrite *x, struct gr_node *a, int *ret_axis)
{
    bool given = rewrite_param(x, "axis") != NULL;

    *ret_axis = given ? rewrite_axis(x, "axis", a->type.dims) : 0;
    return given ? a : rewrite_flat(x, a);
}

static struct gr_node *
run_of(struct rewrite *x, struct gr_node *a, int axis, int64_t from, int64_t to)
{
    const char *text = rewrite_text(x, "%lld:%lld", (long long)from, (long long)to);

    for (int d = 0; d < axis; d++) {
        text = rewrite_text(x, ":, %s", text);
    }
    return rewrite_add(x, GR_TILE_getitem, a, NULL, rewrite_string(x, "index", text), NULL);
}

/* A number of the parameter "indices" and where it stands there. */
struct place {
    int64_t at;
    size_t number;
};

static int
by_place(const void *left, const void *right)
{
    const struct place *a = left, *b = right;

    return a->at != b->at ? (a->at < b->at ? -1 : 1) : a->number < b->number ? -1 : a->number > b->number;
}

/* The indices in order, from 0 up. NULL: it failed. */
static struct place *
read_places(struct rewrite *x, int64_t count, int64_t most, size_t *ret_count)
{
    const Granary__Attr *given = rewrite_param(x, "indices");
    size_t n = given == NULL ? 0 : given->n_ints;
    struct place *places = calloc(n + 1, sizeof *places);

    for (size_t i = 0; places != NULL && i < n; i++) {
        int64_t at = given->ints[i] < 0 ? given->ints[i] + count : given->ints[i];

        if (at < 0 || at > most) {
            (void)rewrite_fail(x, "parameter 'indices': %lld is out of bounds of %lld elements",
                               (long long)given->ints[i], (long long)count);
            free(places);
            return NULL;
        }
        places[i] = (struct place){at, i};
    }
    if (places == NULL) {
        (void)rewrite_no_memory(x);
        return NULL;
    }
    qsort(places, n, sizeof *places, by_place);
    *ret_count = n;
    return places;
}

/* ---- append ---- */

static struct gr_node *
rewrite_append(struct rewrite *x)
{
    int axis = 0;
    struct gr_node *a = with_axis(x, rewrite_input(x, 0), &axis);
    struct gr_node *b = with_axis(x, rewrite_input(x, 1), &axis);

    axis = x->err == GRANARY_OK && rewrite_param(x, "axis") != NULL ? rewrite_axis(x, "axis", a->type.dims) : 0;
    return rewrite_add(x, GR_TILE_concatenate, a, b, rewrite_int(x, "axis", axis), NULL);
}

const struct gr_operator gr_op_append = {.rewrite = rewrite_append};

/* ---- delete ---- */

static struct gr_node *
delete_places(struct rewrite *x, struct gr_node *a, int axis)
{
    int64_t count = a->type.shape[axis], from = 0;
    struct gr_node *runs[RUNS];
    size_t n = 0, used = 0;
    struct place *places = read_places(x, count, count - 1, &n);

    if (places == NULL) {
        return x->node;
    }
    for (size_t i = 0; i <= n && used < RUNS; i++) {
        int64_t to = i < n ? places[i].at : count;

        if (to > from) {
            runs[used++] = run_of(x, a, axis, from, to);
        }
        from = to + 1 > from ? to + 1 : from;
    }
    free(places);
    if (used == RUNS) {
        return rewrite_fail(x, "parameter 'indices' leaves more than %d runs; take the others with take_at", RUNS - 1);
    }
    if (used == 0) {
        return run_of(x, a, axis, 0, 0);
    }
    rewrite_set(x, rewrite_int(x, "axis", axis));
    return rewrite_add_many(x, GR_TILE_concatenate, runs, used);
}

static struct gr_node *
rewrite_delete(struct rewrite *x)
{
    int axis = 0;
    struct gr_node *a = with_axis(x, rewrite_input(x, 0), &axis), *mask;

    if (x->err != GRANARY_OK || a->type.dims == 0) {
        return x->err == GRANARY_OK ? rewrite_fail(x, "it needs a dimension") : x->node;
    }
    if ((rewrite_inputs(x) == 2) == (rewrite_param(x, "indices") != NULL)) {
        return rewrite_fail(x, "it needs a second input, a mask of what goes, or parameter 'indices'");
    }
    if (rewrite_inputs(x) == 1) {
        return delete_places(x, a, axis);
    }
    mask = rewrite_input(x, 1);
    if (axis != 0 || mask->type.dims != 1 || mask->type.dtype != GRANARY_BOOL ||
        mask->type.shape[0] != a->type.shape[0]) {
        return rewrite_fail(x, "a mask of what goes is a bool for each element along the first dimension");
    }
    return rewrite_rows_where(x, a, rewrite_unary(x, GR_TILE_logical_not, mask));
}

const struct gr_operator gr_op_delete = {.rewrite = rewrite_delete};

/* ---- insert ---- */

/* Values as wide as the tensor but for the axis, along which they have `many`. */
static struct gr_node *
spread_values(struct rewrite *x, struct gr_node *values, const struct gr_node_type *like, int axis, size_t places)
{
    int64_t shape[8];
    int own = axis - (like->dims - values->type.dims);
    int64_t wide = own >= 0 && own < values->type.dims ? values->type.shape[own] : 1;

    memcpy(shape, like->shape, sizeof shape);
    shape[axis] = places == 1 ? wide : (int64_t)places;
    values = rewrite_astype(x, values, like->dtype);
    return rewrite_add(x, GR_TILE_broadcast_to, values, NULL, rewrite_ints(x, "shape", shape, (size_t)like->dims),
                       NULL);
}

static struct gr_node *
rewrite_insert(struct rewrite *x)
{
    int axis = 0;
    struct gr_node *a = with_axis(x, rewrite_input(x, 0), &axis);
    struct gr_node *values =
        rewrite_param(x, "axis") == NULL ? rewrite_flat(x, rewrite_input(x, 1)) : rewrite_input(x, 1);
    struct gr_node *runs[RUNS + 2];
    int64_t count, from = 0;
    size_t n = 0, used = 0;
    struct place *places;

    if (x->err != GRANARY_OK || a->type.dims == 0) {
        return x->err == GRANARY_OK ? rewrite_fail(x, "it needs a dimension") : x->node;
    }
    count = a->type.shape[axis];
    places = read_places(x, count, count, &n);
    if (places == NULL) {
        return x->node;
    }
    values = n == 0 ? values : spread_values(x, values, &a->type, axis, n);
    for (size_t i = 0; i <= n && used < RUNS; i++) {
        int64_t to = i < n ? places[i].at : count;

        if (to > from) {
            runs[used++] = run_of(x, a, axis, from, to);
        }
        if (i < n) {
            int64_t number = (int64_t)places[i].number;

            runs[used++] = n == 1 ? values : run_of(x, values, axis, number, number + 1);
        }
        from = to;
    }
    free(places);
    if (used >= RUNS) {
        return rewrite_fail(x, "parameter 'indices' has %zu places; fewer than %d are possible", n, RUNS / 2);
    }
    if (used == 0) {
        return run_of(x, a, axis, 0, count);
    }
    rewrite_set(x, rewrite_int(x, "axis", axis));
    return rewrite_add_many(x, GR_TILE_concatenate, runs, used);
}

const struct gr_operator gr_op_insert = {.rewrite = rewrite_insert};
