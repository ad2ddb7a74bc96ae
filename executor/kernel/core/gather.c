/*
 * Columns gathered by reference: loops for each width of values, without questions where there is one piece and
 * nothing is missing. Strings are fetched some rows ahead and copied sixteen bytes at a time. Encoded ones stay so,
 * with one dictionary for all pieces, where that pays.
 */
#include "kernel/core/gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/place.h"
#include "data/value/bits.h"
#include "kernel/core/scratch.h"

#define NONE UINT32_MAX

typedef struct {
    uint64_t words[2];
} wide;

static inline size_t
piece_of(const struct gather *g, uint32_t ref)
{
    return (size_t)((uint64_t)ref >> g->shift);
}

static inline int64_t
row_of(const struct gather *g, uint32_t ref)
{
    return (int64_t)(ref & ((UINT64_C(1) << g->shift) - 1));
}

granary_err
gather_check(struct gather *g)
{
    bool fits = true;
    bool none = false;

    if (g->piece_count == 1 && g->shift == 32) {
        uint32_t most = 0;
        uint64_t rows = (uint64_t)g->pieces[0]->rows;

        for (int64_t i = 0; i < g->count; i++) {
            uint32_t row = g->refs[i] == NONE ? 0 : g->refs[i] + 1;

            most = row > most ? row : most;
            none |= g->refs[i] == NONE;
        }
        fits = most <= rows;
    } else {
        for (int64_t i = 0; i < g->count; i++) {
            uint32_t ref = g->refs[i];
            bool is_none = ref == NONE;

            none |= is_none;
            fits &=
                is_none || (piece_of(g, ref) < g->piece_count && row_of(g, ref) < g->pieces[piece_of(g, ref)]->rows);
        }
    }
    g->has_none = none;
    return fits ? GRANARY_OK : gr_fail(GRANARY_ECORRUPT, "the built side of a join leads to a row that is not there");
}

/* ---- values ---- */

/* Loops for each size of value; without `none` nothing is asked, with one piece its values are read directly. */
#define DEFINE_VALUES(name, type)                                                                                      \
    static void name(const struct gather *g, const granary_column *const *columns, void *out)                          \
    {                                                                                                                  \
        type *to = out;                                                                                                \
        const type zero = {0};                                                                                         \
                                                                                                                       \
        if (g->piece_count == 1 && !g->has_none) {                                                                     \
            const type *from = columns[0]->values;                                                                     \
                                                                                                                       \
            for (int64_t i = 0; i < g->count; i++) {                                                                   \
                to[i] = from[row_of(g, g->refs[i])];                                                                   \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < g->count; i++) {                                                                       \
            uint32_t ref = g->refs[i];                                                                                 \
            const type *from = ref == NONE ? NULL : columns[piece_of(g, ref)]->values;                                 \
                                                                                                                       \
            to[i] = from == NULL ? zero : from[row_of(g, ref)];                                                        \
        }                                                                                                              \
    }

typedef uint8_t value1;
typedef uint16_t value2;
typedef uint32_t value4;
typedef uint64_t value8;
DEFINE_VALUES(values_1, value1)
DEFINE_VALUES(values_2, value2)
DEFINE_VALUES(values_4, value4)
DEFINE_VALUES(values_8, value8)
DEFINE_VALUES(values_16, wide)

static bool
bit_of(const granary_column *column, bool validity, int64_t row)
{
    return validity ? column->dtype != GRANARY_NULLTYPE && !gr_is_null(column, row)
                    : column->values != NULL && gr_bit(column->values, row);
}

/* Whether there is a value, or values of bools. */
static void
gather_bits(const struct gather *g, const granary_column *const *columns, bool validity, uint8_t *to)
{
    uint8_t bits[512];

    for (int64_t from = 0; from < g->count; from += (int64_t)sizeof bits) {
        int64_t some = g->count - from < (int64_t)sizeof bits ? g->count - from : (int64_t)sizeof bits;

        for (int64_t i = 0; i < some; i++) {
            uint32_t ref = g->refs[from + i];
            const granary_column *column = ref == NONE ? NULL : columns[piece_of(g, ref)];

            bits[i] = column != NULL && bit_of(column, validity, row_of(g, ref));
        }
        bits_pack(bits, some, to, from);
    }
}

static void
fixed_values(const struct gather *g, const granary_column *const *columns, size_t size, void *to)
{
    switch (size) {
    case 1:
        values_1(g, columns, to);
        break;
    case 2:
        values_2(g, columns, to);
        break;
    case 4:
        values_4(g, columns, to);
        break;
    case 8:
        values_8(g, columns, to);
        break;
    default:
        values_16(g, columns, to);
        break;
    }
}

/* ---- strings ---- */

/* Where a string of the result comes from. */
struct text_run {
    const char *from;
    int32_t size;
    int32_t room; /* bytes that can be read from there, as far as they matter */
};

#define AHEAD 16 /* rows whose bytes are fetched before they are used */
#define SHORT 16 /* strings so short are copied as a whole word of that size */

static inline struct text_run
text_of(const granary_column *column, int64_t row)
{
    const granary_column *text = column;
    int32_t begin;
    int64_t room;

    if (column->dictionary != NULL) {
        text = column->dictionary;
        row = ((const int32_t *)column->values)[row];
    }
    begin = text->offsets[row];
    room = (int64_t)text->offsets[text->rows] - begin;
    return (struct text_run){(const char *)text->values + begin, text->offsets[row + 1] - begin,
                             room < SHORT ? (int32_t)room : SHORT};
}

/* All strings of one column without nulls and without a dictionary: the common case, without questions. */
static int64_t
find_plain(const struct gather *g, const granary_column *column, struct text_run *runs)
{
    const int32_t *offsets = column->offsets;
    const char *text = column->values;
    int32_t end = offsets[column->rows];
    int64_t bytes = 0;

    for (int64_t i = 0; i < g->count; i++) {
        int64_t row = row_of(g, g->refs[i]);
        int32_t begin = offsets[row];
        int32_t size = offsets[row + 1] - begin;

        if (i + AHEAD < g->count) {
            __builtin_prefetch(&offsets[row_of(g, g->refs[i + AHEAD])]);
        }
        runs[i] = (struct text_run){text + begin, size, end - begin < SHORT ? end - begin : SHORT};
        bytes += size;
    }
    return bytes;
}

static int64_t
find_any(const struct gather *g, const granary_column *const *columns, struct text_run *runs)
{
    int64_t bytes = 0;

    for (int64_t i = 0; i < g->count; i++) {
        uint32_t ref = g->refs[i];
        const granary_column *column = ref == NONE ? NULL : columns[piece_of(g, ref)];

        if (i + AHEAD < g->count && g->refs[i + AHEAD] != NONE) {
            uint32_t next = g->refs[i + AHEAD];
            const granary_column *other = columns[piece_of(g, next)];

            __builtin_prefetch(other->dictionary != NULL ? (const int32_t *)other->values + row_of(g, next)
                                                         : other->offsets + row_of(g, next));
        }
        if (column == NULL || column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row_of(g, ref))) {
            runs[i] = (struct text_run){NULL, 0, 0};
        } else {
            runs[i] = text_of(column, row_of(g, ref));
            bytes += runs[i].size;
        }
    }
    return bytes;
}

static void
copy_runs(const struct text_run *runs, int64_t count, int64_t bytes, int32_t *offsets, char *text)
{
    int64_t at = 0;

    offsets[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        const struct text_run run = runs[i];

        if (i + AHEAD < count) {
            __builtin_prefetch(runs[i + AHEAD].from);
        }
        if (run.room == SHORT && run.size <= SHORT && bytes - at >= SHORT) {
            memcpy(text + at, run.from, SHORT); /* what is too much is overwritten by the next one */
        } else if (run.size > 0) {
            memcpy(text + at, run.from, (size_t)run.size);
        }
        at += run.size;
        offsets[i + 1] = (int32_t)at;
    }
}

/*
 * Rows in order of one plain column without nulls: what is needed of it comes by itself, so nothing is noted for the
 * copy, which looks at the offsets again.
 */
static granary_err
gather_ascending(const struct gather *g, const granary_column *column, struct gr_column *ret_column)
{
    const int32_t *from = column->offsets;
    const char *text = column->values;
    int64_t bytes = 0;
    int64_t at = 0;
    struct gr_column out;
    int32_t *offsets;
    char *to;
    granary_err err;

    for (int64_t i = 0; i < g->count; i++) {
        bytes += from[g->refs[i] + 1] - from[g->refs[i]];
    }
    err = gr_column_alloc_unset(column->dtype, g->count, bytes, false, &out);
    if (err != GRANARY_OK) {
        return err;
    }
    offsets = (int32_t *)(uintptr_t)out.view.offsets;
    to = (char *)(uintptr_t)out.view.values;
    offsets[0] = 0;
    for (int64_t i = 0; i < g->count; i++) {
        int32_t begin = from[g->refs[i]];
        int32_t size = from[g->refs[i] + 1] - begin;

        if (size <= SHORT && bytes - at >= SHORT && from[column->rows] - begin >= SHORT) {
            memcpy(to + at, text + begin, SHORT); /* what is too much is overwritten by the next one */
        } else if (size > 0) {
            memcpy(to + at, text + begin, (size_t)size);
        }
        at += size;
        offsets[i + 1] = (int32_t)at;
    }
    *ret_column = out;
    return GRANARY_OK;
}

static granary_err
gather_text(const struct gather *g, const granary_column *const *columns, granary_dtype dtype, bool nulls,
            struct gr_column *ret_column)
{
    bool is_plain = g->piece_count == 1 && !nulls && columns[0]->dictionary == NULL && columns[0]->rows > 0;
    struct text_run *runs;
    struct gr_column out;
    int64_t bytes;
    granary_err err;

    if (is_plain && g->ascending) {
        return gather_ascending(g, columns[0], ret_column);
    }
    runs = malloc(((size_t)g->count + 1) * sizeof *runs);
    if (runs == NULL) {
        return gr_fail(GRANARY_ENOMEM, "join: out of memory for %lld strings", (long long)g->count);
    }
    bytes = is_plain ? find_plain(g, columns[0], runs) : find_any(g, columns, runs);
    err = gr_column_alloc_unset(dtype, g->count, bytes, nulls, &out);
    if (err == GRANARY_OK) {
        copy_runs(runs, g->count, bytes, (int32_t *)(uintptr_t)out.view.offsets, (char *)(uintptr_t)out.view.values);
        *ret_column = out;
    }
    free(runs);
    return err;
}

/* The dictionary that all pieces have, when it is worth its place beside so many rows; else NULL. */
static const granary_column *
common_dictionary(const struct gather *g, const granary_column *const *columns)
{
    const granary_column *entries = NULL;

    for (size_t p = 0; p < g->piece_count; p++) {
        if (columns[p]->dtype == GRANARY_NULLTYPE || columns[p]->rows == 0) {
            continue;
        }
        if (columns[p]->dictionary == NULL ||
            (entries != NULL && !gr_dictionary_equals(entries, columns[p]->dictionary))) {
            return NULL;
        }
        entries = entries == NULL ? columns[p]->dictionary : entries;
    }
    return entries != NULL && gr_dictionary_pays(entries->rows, g->count) ? entries : NULL;
}

/* ---- dictionaries made one ---- */

/* Whether all pieces are encoded, with few entries beside the rows that are wanted. */
static bool
unifies(const struct gather *g, const granary_column *const *columns)
{
    int64_t entries = 0;

    for (size_t p = 0; p < g->piece_count; p++) {
        if (columns[p]->dtype == GRANARY_NULLTYPE || columns[p]->rows == 0) {
            continue;
        }
        if (columns[p]->dictionary == NULL) {
            return false;
        }
        entries += columns[p]->dictionary->rows;
    }
    return entries > 0 && 2 * entries <= g->count;
}

/* One dictionary for all pieces. */
static granary_err
pieces_unify(const struct gather *g, const granary_column *const *columns, struct gr_unified *ret_unified)
{
    const granary_column **dictionaries = calloc(g->piece_count + 1, sizeof *dictionaries);
    granary_err err =
        dictionaries == NULL ? gr_fail(GRANARY_ENOMEM, "join: out of memory for a dictionary") : GRANARY_OK;

    for (size_t p = 0; p < g->piece_count && err == GRANARY_OK; p++) {
        dictionaries[p] = columns[p]->dictionary;
    }
    if (err == GRANARY_OK) {
        err = gr_dictionaries_unify(dictionaries, g->piece_count, ret_unified);
    }
    free(dictionaries);
    return err;
}

static void
values_mapped(const struct gather *g, const granary_column *const *columns, uint32_t *const *maps, int32_t *to)
{
    for (int64_t i = 0; i < g->count; i++) {
        uint32_t ref = g->refs[i];
        size_t piece = ref == NONE ? 0 : piece_of(g, ref);

        if (ref == NONE || maps[piece] == NULL || gr_is_null(columns[piece], row_of(g, ref))) {
            to[i] = 0;
        } else {
            to[i] = (int32_t)maps[piece][((const int32_t *)columns[piece]->values)[row_of(g, ref)]];
        }
    }
}

/* ---- columns ---- */

static granary_err
find_columns(const struct gather *g, const char *name, const granary_column **columns, granary_dtype *ret_dtype)
{
    granary_dtype dtype = GRANARY_NULLTYPE;

    for (size_t p = 0; p < g->piece_count; p++) {
        int position = gr_frame_find(g->pieces[p], name);

        if (position < 0) {
            return gr_fail(GRANARY_ENOENT, "there is no column '%s'", name);
        }
        columns[p] = &g->pieces[p]->columns[position].view;
        if (dtype != GRANARY_NULLTYPE && columns[p]->dtype != GRANARY_NULLTYPE && columns[p]->dtype != dtype) {
            return gr_fail(GRANARY_ETYPE, "column '%s' is %s in one piece and %s in another", name,
                           granary_dtype_name(dtype), granary_dtype_name(columns[p]->dtype));
        }
        dtype = columns[p]->dtype == GRANARY_NULLTYPE ? dtype : columns[p]->dtype;
    }
    *ret_dtype = dtype;
    return GRANARY_OK;
}

static bool
any_nulls(const struct gather *g, const granary_column *const *columns)
{
    bool nulls = g->has_none;

    for (size_t p = 0; p < g->piece_count; p++) {
        nulls = nulls || columns[p]->null_count > 0;
    }
    return nulls;
}

static void
column_finish(const struct gather *g, const granary_column *const *columns, struct gr_column *out)
{
    if (out->view.validity != NULL) {
        gather_bits(g, columns, true, (uint8_t *)(uintptr_t)out->view.validity);
    }
    gr_column_settle(out);
}

/* Codes of strings that all have one dictionary, or are given one. */
static granary_err
gather_codes(const struct gather *g, const granary_column *const *columns, const granary_column *entries,
             struct gr_column *ret_column)
{
    struct gr_unified unified = {0};
    struct gr_column out;
    granary_err err =
        entries != NULL ? gr_dictionary_keep(entries, &unified.dictionary) : pieces_unify(g, columns, &unified);

    if (err == GRANARY_OK) {
        err = gr_column_alloc_unset(GRANARY_INT32, g->count, 0, any_nulls(g, columns), &out);
    }
    if (err == GRANARY_OK) {
        if (unified.maps == NULL) {
            values_4(g, columns, (void *)(uintptr_t)out.view.values);
        } else {
            values_mapped(g, columns, unified.maps, (int32_t *)(uintptr_t)out.view.values);
        }
        column_finish(g, columns, &out);
        gr_column_set_dictionary(&out, gr_dictionary_ref(unified.dictionary));
        *ret_column = out;
    }
    gr_unified_free(&unified);
    return err;
}

/* ---- lists ---- */

struct lists {
    const struct gather *g;
    const granary_column *const *columns;
};

static struct gr_run
list_at(const void *context, int64_t i)
{
    const struct lists *lists = context;
    uint32_t ref = lists->g->refs[i];
    const granary_column *column = ref == NONE ? NULL : lists->columns[piece_of(lists->g, ref)];
    int64_t row = column == NULL ? 0 : row_of(lists->g, ref);

    if (column == NULL || column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row)) {
        return (struct gr_run){0};
    }
    return (struct gr_run){gr_list_items(column), column->offsets[row],
                           column->offsets[row + 1] - column->offsets[row]};
}

static granary_err
gather_values(const struct gather *g, const granary_column *const *columns, granary_dtype dtype,
              struct gr_column *ret_column)
{
    bool nulls = any_nulls(g, columns);
    struct gr_column out;
    granary_err err;

    if (gr_dtype_is_list(dtype)) {
        const struct lists lists = {g, columns};

        return gr_list_gather(dtype, g->count, list_at, &lists, ret_column);
    }
    if (gr_dtype_is_text(dtype)) {
        const granary_column *entries = common_dictionary(g, columns);

        if (entries != NULL || unifies(g, columns)) {
            return gather_codes(g, columns, entries, ret_column);
        }
        err = gather_text(g, columns, dtype, nulls, &out);
    } else if (dtype == GRANARY_BOOL) {
        err = gr_column_alloc(dtype, g->count, 0, nulls, &out);
    } else {
        err = gr_column_alloc_unset(dtype, g->count, 0, nulls, &out);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (dtype == GRANARY_BOOL) {
        gather_bits(g, columns, false, (uint8_t *)(uintptr_t)out.view.values);
    } else if (dtype != GRANARY_NULLTYPE && !gr_dtype_is_text(dtype)) {
        fixed_values(g, columns, gr_dtype_size(dtype), (void *)(uintptr_t)out.view.values);
    }
    column_finish(g, columns, &out);
    *ret_column = out;
    return GRANARY_OK;
}

/* A column that is made of the rows that are wanted; a row that is wanted twice is made once. */
static granary_err
gather_late(const struct gather *g, const char *name, struct gr_column *ret_column)
{
    struct gr_frame_late *late = g->pieces[0]->late;
    int64_t *rows = scratch_alloc(((size_t)g->count + 1) * sizeof *rows);
    int64_t *places = scratch_alloc(((size_t)g->count + 1) * sizeof *places);
    struct gr_column once = {.owned = false};
    int64_t count = 0;
    granary_err err = rows == NULL || places == NULL ? gr_no_memory("join") : GRANARY_OK;

    for (int64_t i = 0; err == GRANARY_OK && i < g->count; i++) {
        if (i == 0 || g->refs[i] != g->refs[i - 1]) {
            rows[count++] = g->refs[i];
        }
        places[i] = count - 1;
    }
    if (err == GRANARY_OK && count == g->count) {
        err = late->take(late, name, rows, count, ret_column);
    } else if (err == GRANARY_OK) {
        struct gr_place *place = place_leave(); /* what is made twice lies there once */

        err = late->take(late, name, rows, count, &once);
        gr_place_set(place);
        err = err == GRANARY_OK ? gr_column_take(&once.view, places, g->count, ret_column) : err;
        gr_column_free(&once);
    }
    scratch_free(places);
    scratch_free(rows);
    return err;
}

granary_err
gather_column(const struct gather *g, const char *name, struct gr_column *ret_column)
{
    const granary_column **columns;
    granary_dtype dtype = GRANARY_NULLTYPE;
    granary_err err;

    if (g->piece_count == 1 && g->ascending && gr_frame_is_late(g->pieces[0], name)) {
        return gather_late(g, name, ret_column);
    }
    columns = calloc(g->piece_count + 1, sizeof *columns);
    err = columns == NULL ? gr_no_memory("join") : find_columns(g, name, columns, &dtype);

    if (err == GRANARY_OK) {
        err = gather_values(g, columns, dtype, ret_column);
    }
    free(columns);
    return err;
}

granary_err
gather_frame(const struct gather *g, const char *without, granary_frame **ret_frame)
{
    const granary_frame *first = g->pieces[0];
    granary_frame *frame = gr_frame_create(first->count - (without != NULL), g->count);
    size_t at = 0;
    granary_err err = GRANARY_OK;

    for (size_t c = 0; c < first->count && err == GRANARY_OK; c++) {
        const char *name = first->columns[c].view.name;
        struct gr_column column;

        if (without != NULL && strcmp(name, without) == 0) {
            continue;
        }
        err = gather_column(g, name, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(frame, at++, name, &column);
        }
    }
    return gr_frame_give(frame, err, ret_frame);
}
