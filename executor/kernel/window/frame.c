/* window: all rows at once. */
#include "kernel/window/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/rows/rows.h"

/* An empty list is none. */
static const Granary__Attr *
list_filled(const Granary__Attr *list)
{
    return list != NULL && list->n_strings + list->n_ints > 0 ? list : NULL;
}

granary_err
window_plan_init(const struct gr_window_params *params, struct window_plan *plan)
{
    *plan = (struct window_plan){.partition = list_filled(params->partition),
                                 .by = list_filled(params->by),
                                 .descending = list_filled(params->descending),
                                 .nulls_first = list_filled(params->nulls_first),
                                 .keep_nulls = !params->dropna,
                                 .nan_largest = params->nan_largest};
    return gr_windows_parse(params->columns, &plan->windows, &plan->count);
}

void
window_plan_fini(struct window_plan *plan)
{
    gr_windows_free(plan->windows, plan->count);
}

static size_t
key_count(const struct window_plan *plan)
{
    return (plan->partition != NULL ? plan->partition->n_strings : 0) + (plan->by != NULL ? plan->by->n_strings : 0);
}

/* Which expressions a function needs: its value, a second one, and the distances of its frame. */
enum { NEEDS = 4 };

static const char *
need_text(const struct gr_window *window, int need)
{
    const char *const texts[NEEDS] = {window->value, window->second, window->frame.from.distance,
                                      window->frame.to.distance};

    return texts[need];
}

void
window_columns_at(const struct window_plan *plan, size_t i, const granary_frame *needs, struct window_columns *columns)
{
    const granary_column **const places[NEEDS] = {&columns->value, &columns->second, &columns->from, &columns->to};
    size_t at = key_count(plan);

    *columns = (struct window_columns){0};
    for (size_t w = 0; w <= i; w++) {
        for (int need = 0; need < NEEDS; need++) {
            if (need_text(&plan->windows[w], need) != NULL) {
                *places[need] = w == i ? &needs->columns[at].view : NULL;
                at++;
            }
        }
    }
}

/* What is computed for the functions. */
struct need {
    char *name;
    char *text;
};

/* The text of a need; of distances from dates and times that of the limit. NULL: no memory. */
static char *
need_expression(const struct window_plan *plan, const struct gr_window *window, int need, const granary_frame *frame)
{
    const struct gr_frame_bound *bound = need == 2 ? &window->frame.from : need == 3 ? &window->frame.to : NULL;
    int by = bound != NULL && window->frame.mode == GR_FRAME_RANGE && plan->by != NULL
                 ? gr_frame_find(frame, plan->by->strings[0])
                 : -1;

    return by >= 0 && gr_frame_has_limits(frame->columns[by].view.dtype)
               ? gr_frame_limit(bound, plan->by->strings[0], plan->descending != NULL && plan->descending->ints[0] != 0)
               : strdup(need_text(window, need));
}

/* *ret_list: to be given to list_free(). */
static granary_err
list_needs(const struct window_plan *plan, const granary_frame *frame, struct need **ret_list, size_t *ret_count)
{
    struct need *list = calloc(NEEDS * plan->count + 1, sizeof *list);
    size_t count = 0;
    granary_err err = list == NULL ? gr_no_memory("window") : GRANARY_OK;

    for (size_t i = 0; i < NEEDS * plan->count && err == GRANARY_OK; i++) {
        const struct gr_window *window = &plan->windows[i / NEEDS];
        int need = (int)(i % NEEDS);

        if (need_text(window, need) == NULL) {
            continue;
        }
        list[count].text = need_expression(plan, window, need, frame);
        if (need == 0) {
            list[count].name = strdup(window->name);
        } else if (asprintf(&list[count].name, "%s #%d", window->name, need) < 0) {
            list[count].name = NULL;
        }
        err = list[count].text == NULL || list[count].name == NULL ? gr_no_memory("window") : GRANARY_OK;
        count++;
    }
    *ret_list = list;
    *ret_count = count;
    return err;
}

static void
list_free(struct need *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].text);
    }
    free(list);
}

/* The values, as columns of one frame. */
static granary_err
needed_values(const struct window_plan *plan, const granary_frame *frame, granary_frame **ret_values)
{
    struct need *list = NULL;
    size_t count = 0;
    granary_err err = list_needs(plan, frame, &list, &count);
    const char **names = calloc(count + 1, sizeof *names);
    const char **texts = calloc(count + 1, sizeof *texts);

    err = err == GRANARY_OK && (names == NULL || texts == NULL) ? gr_no_memory("window") : err;
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        names[i] = list[i].name;
        texts[i] = list[i].text;
    }
    if (err == GRANARY_OK) {
        struct rows_spec spec = {.wanted = texts, .wanted_count = count};

        err = rows_frame(frame, &spec, names, ret_values);
    }
    list_free(list, count);
    free(names);
    free(texts);
    return err;
}

/* Key columns by their names, values by their expressions. */
granary_err
window_needs(const struct window_plan *plan, const granary_frame *frame, granary_frame **ret_needs)
{
    size_t keys = key_count(plan);
    size_t first = plan->partition != NULL ? plan->partition->n_strings : 0;
    granary_frame *values = NULL;
    granary_frame *needs = NULL;
    granary_err err = needed_values(plan, frame, &values);

    if (err == GRANARY_OK) {
        needs = gr_frame_create(keys + values->count, frame->rows);
        err = needs == NULL ? gr_no_memory("window") : GRANARY_OK;
    }
    for (size_t c = 0; c < keys && err == GRANARY_OK; c++) {
        const char *name = c < first ? plan->partition->strings[c] : plan->by->strings[c - first];
        int at = gr_frame_find(frame, name);

        err = at < 0 ? gr_fail(GRANARY_ENOENT, "there is no column '%s'", name)
                     : gr_frame_set_borrowed(needs, c, name, &frame->columns[at].view);
    }
    for (size_t c = 0; err == GRANARY_OK && c < values->count; c++) {
        err = gr_frame_move(needs, keys + c, values, c);
    }
    gr_frame_destroy(values);
    return gr_frame_give(needs, err, ret_needs);
}

/* ---- partitions ---- */

static bool
flag_at(const Granary__Attr *flags, size_t i)
{
    return flags != NULL && flags->ints[flags->n_ints > i ? i : 0] != 0;
}

static bool
same_partition(const struct window_rows *rows, int64_t i, int64_t k)
{
    return sort_compare(rows->keys, window_row(rows, i), rows->keys, window_row(rows, k), rows->partition_keys) == 0;
}

/* Where the partition that begins at position i ends. Its rows stand together: behind the first few of them in larger
 * and larger steps, then by halves, so that most are not looked at (Bentley and Yao, An Almost Optimal Algorithm for
 * Unbounded Searching, 1976). */
static int64_t
partition_end(const struct window_rows *rows, int64_t i)
{
    enum { FEW = 8 };
    int64_t same = i;
    int64_t step = 1;
    int64_t other;

    while (step < rows->count - same && same_partition(rows, i, same + step)) {
        same += step;
        step = same - i < FEW ? 1 : 2 * step;
    }
    other = step < rows->count - same ? same + step : rows->count;
    while (other - same > 1) {
        int64_t middle = same + (other - same) / 2;

        if (same_partition(rows, i, middle)) {
            same = middle;
        } else {
            other = middle;
        }
    }
    return other;
}

static bool
has_null_key(const struct window_rows *rows, int64_t row)
{
    for (size_t k = 0; k < rows->partition_keys; k++) {
        const granary_column *column = rows->keys[k].column;

        if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row)) {
            return true;
        }
    }
    return false;
}

static void
rows_fini(struct window_rows *rows)
{
    free((void *)(uintptr_t)rows->order);
    free((void *)(uintptr_t)rows->ends);
    free((void *)(uintptr_t)rows->left_out);
    free((void *)(uintptr_t)rows->keys);
}

/* Where partitions end in the order. keep_nulls: a null is a key of its own */
static granary_err
rows_cut(struct window_rows *rows, bool keep_nulls)
{
    int64_t *ends = malloc((size_t)(rows->partition_keys > 0 ? rows->count + 1 : 1) * sizeof *ends);
    bool *left_out = malloc((size_t)(rows->partition_keys > 0 ? rows->count + 1 : 1) * sizeof *left_out);

    rows->ends = ends;
    rows->left_out = left_out;
    if (ends == NULL || left_out == NULL) {
        return gr_no_memory("window");
    }
    if (rows->partition_keys == 0) {
        ends[0] = rows->count;
        left_out[0] = false;
        rows->partitions = rows->count > 0;
        return GRANARY_OK;
    }
    for (int64_t i = 0; i < rows->count; i = ends[rows->partitions++]) {
        left_out[rows->partitions] = !keep_nulls && has_null_key(rows, window_row(rows, i));
        ends[rows->partitions] = partition_end(rows, i);
    }
    return GRANARY_OK;
}

static granary_err
rows_init(const struct window_plan *plan, const granary_frame *needs, struct window_rows *rows)
{
    size_t count = key_count(plan);
    struct sort_key *keys = calloc(count + 1, sizeof *keys);
    int64_t *order;
    int64_t ordered;
    granary_err err = keys == NULL ? gr_no_memory("window") : GRANARY_OK;

    *rows = (struct window_rows){.count = needs->rows,
                                 .keys = keys,
                                 .key_count = count,
                                 .partition_keys = plan->partition != NULL ? plan->partition->n_strings : 0};
    for (size_t k = 0; k < count && err == GRANARY_OK; k++) {
        size_t by = k - rows->partition_keys;

        keys[k].column = &needs->columns[k].view;
        keys[k].nan_largest = plan->nan_largest;
        if (k >= rows->partition_keys) {
            keys[k].descending = flag_at(plan->descending, by);
            keys[k].nulls_first = flag_at(plan->nulls_first, by);
        }
    }
    if (err == GRANARY_OK && count > 0) {
        err = sort_rows(keys, count, needs->rows, SORT_NO_LIMIT, &order, &ordered);
        rows->order = err == GRANARY_OK ? order : NULL;
    }
    if (err == GRANARY_OK) {
        err = rows_cut(rows, plan->keep_nulls);
    }
    if (err != GRANARY_OK) {
        rows_fini(rows);
    }
    return err;
}

granary_err
window_results(const struct window_plan *plan, const granary_frame *needs, granary_frame **ret_results)
{
    granary_frame *results = gr_frame_create(plan->count, needs->rows);
    struct window_rows rows = {0};
    granary_err err = results == NULL ? gr_no_memory("window") : rows_init(plan, needs, &rows);

    if (err != GRANARY_OK) {
        gr_frame_destroy(results);
        return err;
    }
    for (size_t i = 0; i < plan->count && err == GRANARY_OK; i++) {
        struct window_columns columns;
        struct gr_column column;

        window_columns_at(plan, i, needs, &columns);
        err = window_compute(&plan->windows[i], &columns, &rows, NULL, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(results, i, plan->windows[i].name, &column);
        }
    }
    rows_fini(&rows);
    return gr_frame_give(results, err, ret_results);
}

granary_err
window_assign(const granary_frame *frame, granary_frame *results, granary_frame **ret_frame)
{
    size_t count = frame->count;
    granary_frame *made;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < results->count; i++) {
        count += gr_frame_find(frame, results->columns[i].view.name) < 0;
    }
    made = gr_frame_create(count, frame->rows);
    for (size_t c = 0; c < frame->count && err == GRANARY_OK; c++) {
        const granary_column *column = &frame->columns[c].view;
        int at = gr_frame_find(results, column->name);

        err =
            at < 0 ? gr_frame_set_borrowed(made, c, column->name, column) : gr_frame_move(made, c, results, (size_t)at);
    }
    count = frame->count;
    for (size_t i = 0; i < results->count && err == GRANARY_OK; i++) {
        if (gr_frame_find(frame, results->columns[i].view.name) < 0) {
            err = gr_frame_move(made, count++, results, i);
        }
    }
    gr_frame_destroy(results);
    return gr_frame_give(made, err, ret_frame);
}

granary_err
kernel_window(struct gr_kernel_call *call, const struct gr_chunk_window *params)
{
    const granary_frame *frame = NULL;
    granary_frame *all = NULL;
    granary_frame *needs = NULL;
    granary_frame *results = NULL;
    granary_frame *made = NULL;
    struct window_plan plan = {0};
    granary_err err = call_frames_joined(call, &frame, &all);

    if (err == GRANARY_OK) {
        err = window_plan_init(&params->window, &plan);
    }
    if (err == GRANARY_OK) {
        err = window_needs(&plan, frame, &needs);
    }
    if (err == GRANARY_OK) {
        err = window_results(&plan, needs, &results);
    }
    gr_frame_destroy(needs);
    if (err == GRANARY_OK) {
        err = window_assign(frame, results, &made);
    }
    if (err == GRANARY_OK && all != NULL) {
        /* What was borrowed from it becomes the result's own. */
        for (size_t c = 0; c < all->count; c++) {
            struct gr_column *own = &made->columns[gr_frame_find(made, all->columns[c].view.name)];

            if (!own->owned) {
                own->owned = all->columns[c].owned;
                own->dictionary = all->columns[c].dictionary;
                own->items = all->columns[c].items;
                all->columns[c].owned = false;
                all->columns[c].dictionary = NULL;
                all->columns[c].items = NULL;
            }
        }
    }
    window_plan_fini(&plan);
    gr_frame_destroy(all);
    return call_yield(call, 0, made, err);
}
