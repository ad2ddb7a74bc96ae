/*
 * Elements of a tensor object. A selection that lies in one piece is mapped. Otherwise its rows are gathered. Of a
 * spilled object, only the frames that hold them are fetched for that, one after another.
 */
#include <string.h>

#include "base/error.h"
#include "client/read.h"
#include "data/frame.h"
#include "data/tensor.h"
#include "spill/spill.h"

/* No NPY header that granary reads is longer. */
#define HEAD_MAX ((uint64_t)128 << 10)
/* So much of a spilled object is brought back at a time, at most. */
#define WINDOW_MAX ((uint64_t)8 << 20)

#define DIMS_MAX 8

/* A dimension of the selection: its elements lie `from` bytes apart in the object and go `to` bytes apart. */
struct dimension {
    int64_t count;
    int64_t from;
    int64_t to;
};

/* The selection as loops around a copy of `run` bytes. */
struct plan {
    granary_tensor result; /* without values */
    int loops;
    struct dimension loop[DIMS_MAX];
    uint64_t at;    /* in the object: of the first run */
    uint64_t end;   /* ... behind the last byte that is wanted */
    int64_t origin; /* in the result, of the first run: other than 0 when a dimension goes backwards */
    uint64_t run;
    bool empty;
};

/* The file's head: dtype and shape, and where the values begin. */
static granary_err
read_head(const struct reading *reading, granary_tensor *ret_tensor, uint64_t *ret_values)
{
    uint64_t head = reading->data_size < HEAD_MAX ? reading->data_size : HEAD_MAX;
    granary_view view;
    granary_err err = granary_object_get_range(reading->client, reading->id, 0, head, reading->timeout_ms, &view);

    if (err == GRANARY_OK) {
        err = gr_npy_head(view.data, head, reading->data_size, ret_tensor, ret_values, NULL);
        granary_object_release(reading->client, &view);
    }
    return err;
}

/* What is selected of each dimension: first and step in elements, whether it stays. */
struct range {
    int64_t first;
    int64_t step;
    int64_t count;
};

static granary_err
select_ranges(const granary_selection *select, const granary_tensor *tensor, struct range range[DIMS_MAX],
              granary_tensor *result)
{
    int given = select->kind == GRANARY_SELECT_ELEMENTS ? select->dim_count : 0;

    if (given < 0 || given > tensor->dims) {
        return gr_fail(GRANARY_EINVAL, "slices of %d dimensions: the tensor has %d", given, tensor->dims);
    }
    for (int i = 0; i < tensor->dims; i++) {
        const granary_slice slice = i < given ? select->dims[i] : (granary_slice)GRANARY_SLICE_ALL;
        granary_err err =
            granary_slice_resolve(slice, tensor->shape[i], &range[i].first, &range[i].step, &range[i].count);

        if (err != GRANARY_OK) {
            return gr_fail_in(err, "dimension %d", i);
        }
        if (slice.step != 0) {
            result->shape[result->dims++] = range[i].count;
        }
    }
    return GRANARY_OK;
}

/*
 * From the last dimension on, those that are wanted whole make up one run, with a stretch of the one in front of them.
 * The others become loops, whose positions in the object go up.
 */
static void
make_plan(const granary_tensor *tensor, const struct range range[DIMS_MAX], uint64_t values, struct plan *plan)
{
    int64_t size = tensor->dtype == GRANARY_BOOL ? 1 : (int64_t)gr_dtype_size(tensor->dtype);
    int64_t from = size, to = size;
    bool together = true;

    plan->at = values;
    plan->end = values;
    plan->run = (uint64_t)size;
    for (int i = tensor->dims - 1; i >= 0; i--) {
        int64_t step = range[i].count == 1 ? 1 : range[i].step;
        int64_t first = range[i].first;

        plan->empty = plan->empty || range[i].count == 0;
        if (plan->empty) {
            return;
        }
        if (step < 0) {
            first += (range[i].count - 1) * step;
            plan->origin += (range[i].count - 1) * to;
        }
        plan->at += (uint64_t)(first * from);
        plan->end += (uint64_t)((first + (range[i].count - 1) * (step < 0 ? -step : step)) * from);
        if (together && step == 1) {
            plan->run *= (uint64_t)range[i].count;
        } else if (range[i].count > 1) {
            plan->loop[plan->loops++] =
                (struct dimension){range[i].count, from * (step < 0 ? -step : step), step < 0 ? -to : to};
        }
        together = together && step == 1 && range[i].count == tensor->shape[i];
        from *= tensor->shape[i];
        to *= range[i].count;
    }
    plan->end += (uint64_t)size;
}

/* The part of the object that is leased at the moment. */
struct window {
    const struct reading *reading;
    granary_view view;
    uint64_t from, to;
    uint64_t limit; /* nothing behind it is wanted */
};

/* Move it so that it holds [at, at + length), and what comes with that: the rest of the last frame. */
static granary_err
window_move(struct window *window, uint64_t at, uint64_t length)
{
    uint64_t to = (at + length + LEVEL_FRAME - 1) / LEVEL_FRAME * LEVEL_FRAME;
    granary_err err;

    granary_object_release(window->reading->client, &window->view);
    window->to = 0;
    to = window->reading->in_memory || to > window->limit ? window->limit : to;
    err = granary_object_get_range(window->reading->client, window->reading->id, at, to - at,
                                   window->reading->timeout_ms, &window->view);
    if (err == GRANARY_OK) {
        window->from = at;
        window->to = to;
    }
    return err;
}

static granary_err
copy_run(struct window *window, uint64_t at, uint64_t length, char *to)
{
    while (length > 0) {
        uint64_t piece = length;

        if (at < window->from || at + length > window->to) {
            granary_err err;

            piece = length < WINDOW_MAX ? length : WINDOW_MAX;
            err = window_move(window, at, piece);
            if (err != GRANARY_OK) {
                return err;
            }
        }
        memcpy(to, (const char *)window->view.data + (at - window->from), piece);
        to += piece;
        at += piece;
        length -= piece;
    }
    return GRANARY_OK;
}

/* Loops count from the innermost on. */
static granary_err
copy_loops(const struct plan *plan, struct window *window, char *to)
{
    int64_t counter[DIMS_MAX] = {0};
    uint64_t at = plan->at;
    int64_t place = plan->origin;
    granary_err err = GRANARY_OK;
    int i;

    do {
        err = copy_run(window, at, plan->run, to + place);
        for (i = 0; i < plan->loops; i++) {
            const struct dimension *loop = &plan->loop[i];

            at += (uint64_t)loop->from;
            place += loop->to;
            if (++counter[i] < loop->count) {
                break;
            }
            at -= (uint64_t)(loop->from * loop->count);
            place -= loop->to * loop->count;
            counter[i] = 0;
        }
    } while (err == GRANARY_OK && i < plan->loops);
    return err;
}

static granary_err
gather(const struct reading *reading, const struct plan *plan, granary_chunk *chunk)
{
    struct window window = {.reading = reading, .limit = plan->end};
    struct gr_tensor tensor;
    granary_err err = gr_tensor_alloc(plan->result.dtype, plan->result.dims, plan->result.shape, &tensor);

    if (err != GRANARY_OK) {
        return err;
    }
    if (!plan->empty) {
        err = copy_loops(plan, &window, tensor.owned);
    }
    granary_object_release(reading->client, &window.view);
    if (err != GRANARY_OK) {
        gr_tensor_free(&tensor);
        return err;
    }
    chunk->tensor = tensor.view;
    chunk->owned = tensor.owned;
    return GRANARY_OK;
}

granary_err
read_tensor(const struct reading *reading, granary_chunk *chunk)
{
    struct plan plan = {.run = 0};
    struct range range[DIMS_MAX];
    granary_tensor tensor;
    uint64_t values, skip = 0;
    granary_err err = read_head(reading, &tensor, &values);

    if (err != GRANARY_OK) {
        return err;
    }
    plan.result.dtype = tensor.dtype;
    err = select_ranges(reading->select, &tensor, range, &plan.result);
    if (err != GRANARY_OK) {
        return err;
    }
    make_plan(&tensor, range, values, &plan);
    if (plan.empty || plan.loops > 0) {
        return gather(reading, &plan, chunk);
    }
    /* Most of it: then all of it is brought back, and stays for the next reader. */
    if (plan.run > reading->data_size / 2) {
        err = granary_object_get(reading->client, reading->id, reading->timeout_ms, &chunk->view);
        skip = plan.at;
    } else {
        err = granary_object_get_range(reading->client, reading->id, plan.at, plan.run, reading->timeout_ms,
                                       &chunk->view);
    }
    if (err == GRANARY_EFULL && !reading->in_memory) {
        return gather(reading, &plan, chunk); /* piece by piece it may fit */
    }
    if (err == GRANARY_OK) {
        chunk->tensor = plan.result;
        chunk->tensor.values = (const char *)chunk->view.data + skip;
        chunk->mapped = true;
    }
    return err;
}
