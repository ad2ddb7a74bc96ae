/*
 * Dictionary-encoded string columns. Columns that are made from one another share a dictionary, so rows taken out of
 * a column cost no strings. A dictionary in somebody else's bytes is copied when a column outlives them.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/encoded.h"
#include "data/texts.h"
#include "data/value/bits.h"

struct gr_dictionary {
    struct gr_column column; /* first: its view leads here */
    atomic_uint references;
    char name[1]; /* the entries' name is this place: so they are known as part of a gr_dictionary, copies are not */
};

granary_err
gr_dictionary_create(struct gr_column *entries, struct gr_dictionary **ret_dictionary)
{
    struct gr_dictionary *dictionary = malloc(sizeof *dictionary);

    if (dictionary == NULL) {
        gr_column_free(entries);
        return gr_fail(GRANARY_ENOMEM, "dictionary: out of memory");
    }
    dictionary->column = *entries;
    dictionary->column.view.name = dictionary->name;
    dictionary->name[0] = '\0';
    atomic_init(&dictionary->references, 1);
    *entries = (struct gr_column){.owned = false};
    *ret_dictionary = dictionary;
    return GRANARY_OK;
}

struct gr_dictionary *
gr_dictionary_ref(struct gr_dictionary *dictionary)
{
    if (dictionary != NULL) {
        atomic_fetch_add_explicit(&dictionary->references, 1, memory_order_relaxed);
    }
    return dictionary;
}

void
gr_dictionary_unref(struct gr_dictionary *dictionary)
{
    /* Release what this thread did with it, acquire what the others did, before it goes. */
    if (dictionary != NULL && atomic_fetch_sub_explicit(&dictionary->references, 1, memory_order_acq_rel) == 1) {
        gr_column_free(&dictionary->column);
        free(dictionary);
    }
}

struct gr_dictionary *
gr_dictionary_hold(const granary_column *entries)
{
    return entries != NULL && entries->name == (const char *)entries + offsetof(struct gr_dictionary, name)
               ? gr_dictionary_ref((struct gr_dictionary *)(uintptr_t)entries)
               : NULL;
}

const granary_column *
gr_dictionary_entries(const struct gr_dictionary *dictionary)
{
    return &dictionary->column.view;
}

void
gr_column_set_dictionary(struct gr_column *codes, struct gr_dictionary *dictionary)
{
    codes->view.dtype = dictionary->column.view.dtype;
    codes->view.dictionary = &dictionary->column.view;
    codes->dictionary = dictionary;
}

granary_err
gr_dictionary_keep(const granary_column *entries, struct gr_dictionary **ret_dictionary)
{
    const struct gr_run run = {entries, 0, entries->rows};
    struct gr_dictionary *held = gr_dictionary_hold(entries);
    struct gr_column copy;
    granary_err err;

    if (held != NULL && held->column.owned) {
        *ret_dictionary = held;
        return GRANARY_OK;
    }
    gr_dictionary_unref(held);
    err = gr_column_concat(&run, 1, entries->dtype, &copy);
    return err == GRANARY_OK ? gr_dictionary_create(&copy, ret_dictionary) : err;
}

bool
gr_dictionary_pays(int64_t entries, int64_t rows)
{
    return rows > 0 && entries <= 2 * rows + 64;
}

/* ---- plain columns ---- */

static granary_err
decode(const granary_column *column, int64_t from, int64_t rows, struct gr_column *ret_column)
{
    const granary_column *entries = column->dictionary;
    const int32_t *codes = (const int32_t *)column->values + from;
    const char *text = entries->values;
    struct gr_column out;
    int64_t bytes = 0;
    int32_t *offsets;
    char *to;
    int32_t at = 0;
    granary_err err;

    for (int64_t i = 0; i < rows; i++) {
        if (!gr_is_null(column, from + i)) {
            bytes += entries->offsets[codes[i] + 1] - entries->offsets[codes[i]];
        }
    }
    err = gr_column_alloc_unset(entries->dtype, rows, bytes, column->validity != NULL, &out);
    if (err != GRANARY_OK) {
        return err;
    }
    offsets = (int32_t *)(uintptr_t)out.view.offsets;
    to = (char *)(uintptr_t)out.view.values;
    offsets[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        if (!gr_is_null(column, from + i)) {
            int32_t begin = entries->offsets[codes[i]];
            int32_t length = entries->offsets[codes[i] + 1] - begin;

            if (length > 0) {
                memcpy(to + at, text + begin, (size_t)length);
            }
            at += length;
        }
        offsets[i + 1] = at;
    }
    if (column->validity != NULL) {
        bits_copy((uint8_t *)(uintptr_t)out.view.validity, 0, column->validity, from, rows);
    }
    gr_column_finish(&out);
    *ret_column = out;
    return GRANARY_OK;
}

granary_err
gr_column_decode(const granary_column *column, struct gr_column *ret_column)
{
    const struct gr_run run = {column, 0, column->rows};

    return column->dictionary != NULL ? decode(column, 0, column->rows, ret_column)
                                      : gr_column_concat(&run, 1, column->dtype, ret_column);
}

granary_err
gr_frame_decode(const granary_frame *frame, granary_frame **ret_frame)
{
    granary_frame *plain = gr_frame_create(frame->count, frame->rows);
    granary_err err = plain == NULL ? gr_fail(GRANARY_ENOMEM, "frame: out of memory") : GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;
        struct gr_column out;

        if (column->dictionary == NULL) {
            err = gr_frame_set_borrowed(plain, i, column->name, column);
        } else if ((err = gr_column_decode(column, &out)) == GRANARY_OK) {
            err = gr_frame_set(plain, i, column->name, &out);
        } else {
            (void)gr_fail_in(err, "column '%s'", column->name);
        }
    }
    if (err == GRANARY_OK && frame->stats != NULL) {
        plain->stats = malloc((frame->count + 1) * sizeof *plain->stats);
        if (plain->stats != NULL) { /* without them things are slower, not wrong */
            memcpy(plain->stats, frame->stats, frame->count * sizeof *plain->stats);
        }
    }
    return gr_frame_give(plain, err, ret_frame);
}

granary_err
gr_frame_plain(const granary_frame *frame, const granary_frame **ret_frame)
{
    size_t encoded = 0;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < frame->count; i++) {
        encoded += frame->columns[i].view.dictionary != NULL;
    }
    if (encoded > 0 && frame->plain == NULL) {
        /* Kept with the frame, which is otherwise as it was. */
        err = gr_frame_decode(frame, &((granary_frame *)(uintptr_t)frame)->plain);
    }
    if (err == GRANARY_OK) {
        *ret_frame = encoded == 0 ? frame : frame->plain;
    }
    return err;
}

/* ---- taken rows ---- */

granary_err
encoded_take(const granary_column *column, const int64_t *indices, int64_t count, struct gr_column *ret_column)
{
    granary_column codes = *column;
    struct gr_dictionary *dictionary;
    struct gr_column out;
    granary_err err;

    codes.dtype = GRANARY_INT32;
    codes.dictionary = NULL;
    err = gr_column_take(&codes, indices, count, &out);
    if (err != GRANARY_OK) {
        return err;
    }
    if (!gr_dictionary_pays(column->dictionary->rows, out.view.rows - out.view.null_count)) {
        granary_column taken = out.view;

        taken.dtype = column->dtype;
        taken.dictionary = column->dictionary;
        err = gr_column_decode(&taken, ret_column);
        gr_column_free(&out);
        return err;
    }
    err = gr_dictionary_keep(column->dictionary, &dictionary);
    if (err != GRANARY_OK) {
        gr_column_free(&out);
        return err;
    }
    gr_column_set_dictionary(&out, dictionary);
    *ret_column = out;
    return GRANARY_OK;
}

/* ---- dictionaries made one ---- */

/* Room for the strings of a plain column, all of them different. */
static granary_err
reserve_column(struct gr_texts *texts, const granary_column *column)
{
    return gr_texts_reserve(texts, (uint64_t)column->rows,
                            (uint64_t)(column->offsets[column->rows] - column->offsets[0]));
}

bool
gr_column_is_distinct(const granary_column *column)
{
    struct gr_texts texts = {0};
    bool distinct = reserve_column(&texts, column) == GRANARY_OK;

    for (int64_t i = 0; distinct && i < column->rows; i++) {
        uint32_t number;
        size_t size;
        const char *text = gr_text_at(column, i, &size);

        distinct = gr_texts_add(&texts, text, size, &number) == GRANARY_OK && number == i;
    }
    gr_texts_free(&texts);
    return distinct;
}

/* ---- one for many frames ---- */

struct entry {
    const char *text;
    int32_t length;
};

static int
compare_texts(const char *a, int32_t a_length, const char *b, int32_t b_length)
{
    int order = memcmp(a, b, (size_t)(a_length < b_length ? a_length : b_length));

    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static int
by_text(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;

    return compare_texts(a->text, a->length, b->text, b->length);
}

/* Texts, in order, as a column of their own. */
static granary_err
texts_sorted(const struct gr_texts *texts, granary_dtype dtype, struct gr_column *ret_entries)
{
    struct entry *order = malloc((texts->count + 1) * sizeof *order);
    struct gr_column sorted;
    int32_t *offsets;
    granary_err err = order == NULL ? gr_fail(GRANARY_ENOMEM, "dictionary: out of memory") : GRANARY_OK;

    if (err == GRANARY_OK) {
        err = gr_column_alloc(dtype, (int64_t)texts->count, (int64_t)gr_texts_bytes(texts), false, &sorted);
    }
    if (err != GRANARY_OK) {
        free(order);
        return err;
    }
    for (uint64_t i = 0; i < texts->count; i++) {
        size_t size;
        const char *text = gr_texts_at(texts, i, &size);

        order[i] = (struct entry){text, (int32_t)size};
    }
    qsort(order, (size_t)texts->count, sizeof *order, by_text);
    offsets = (int32_t *)(uintptr_t)sorted.view.offsets;
    for (uint64_t i = 0; i < texts->count; i++) {
        if (order[i].length > 0) {
            memcpy((char *)(uintptr_t)sorted.view.values + offsets[i], order[i].text, (size_t)order[i].length);
        }
        offsets[i + 1] = offsets[i] + order[i].length;
    }
    free(order);
    gr_column_finish(&sorted);
    *ret_entries = sorted;
    return GRANARY_OK;
}

granary_err
gr_dictionaries_join(const granary_column *const *columns, size_t count, int64_t limit, bool *ret_fits,
                     struct gr_column *ret_entries)
{
    struct gr_texts texts = {0};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        const granary_column *column = columns[i];

        for (int64_t row = 0; row < column->rows && (int64_t)texts.count <= limit && err == GRANARY_OK; row++) {
            uint32_t number;
            size_t size;

            if (!gr_is_null(column, row)) {
                const char *text = gr_text_at(column, row, &size);

                err = gr_texts_add(&texts, text, size, &number);
            }
        }
    }
    *ret_fits = (int64_t)texts.count <= limit;
    if (err == GRANARY_OK && *ret_fits) {
        err = texts_sorted(&texts, count > 0 ? columns[0]->dtype : GRANARY_STRING, ret_entries);
    }
    gr_texts_free(&texts);
    return err;
}

granary_err
gr_dictionary_positions(const granary_column *joined, const granary_column *column, int32_t *ret_positions)
{
    struct gr_texts texts = {0};
    uint32_t *places = NULL;
    granary_err err = reserve_column(&texts, joined);

    if (err == GRANARY_OK) {
        err = gr_texts_add_column(&texts, joined, &places);
    }
    free(places); /* they are different: 0, 1, 2, ... */
    for (int64_t row = 0; row < column->rows && err == GRANARY_OK; row++) {
        uint32_t place = 0;
        size_t size;

        if (!gr_is_null(column, row)) {
            const char *text = gr_text_at(column, row, &size);

            place = gr_texts_find(&texts, text, size);
        }
        ret_positions[row] = (int32_t)place;
        if (place == GR_TEXTS_NONE) {
            err = gr_fail(GRANARY_EINVAL, "a string is not in the dictionary it is to be encoded with");
        }
    }
    gr_texts_free(&texts);
    return err;
}

bool
gr_dictionary_equals(const granary_column *a, const granary_column *b)
{
    size_t size = (size_t)(a->offsets[a->rows] - a->offsets[0]);

    return a == b ||
           (a->rows == b->rows && memcmp(a->offsets, b->offsets, ((size_t)a->rows + 1) * sizeof(int32_t)) == 0 &&
            (size == 0 ||
             memcmp((const char *)a->values + a->offsets[0], (const char *)b->values + b->offsets[0], size) == 0));
}

granary_err
gr_dictionaries_unify(const granary_column *const *dictionaries, size_t count, struct gr_unified *ret_unified)
{
    struct gr_unified unified = {.maps = calloc(count + 1, sizeof *unified.maps), .count = count};
    struct gr_texts texts = {0};
    granary_dtype dtype = GRANARY_STRING;
    struct gr_column entries;
    granary_err err = unified.maps == NULL ? gr_fail(GRANARY_ENOMEM, "dictionary: out of memory") : GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        dtype = dictionaries[i] != NULL ? dictionaries[i]->dtype : dtype;
        if (dictionaries[i] != NULL && i > 0 && dictionaries[i] == dictionaries[i - 1]) {
            unified.maps[i] = unified.maps[i - 1];
        } else if (dictionaries[i] != NULL) {
            err = gr_texts_add_column(&texts, dictionaries[i], &unified.maps[i]);
        }
    }
    if (err == GRANARY_OK && (err = gr_texts_column(&texts, dtype, &entries)) == GRANARY_OK) {
        err = gr_dictionary_create(&entries, &unified.dictionary);
    }
    gr_texts_free(&texts);
    if (err != GRANARY_OK) {
        gr_unified_free(&unified);
        return err;
    }
    *ret_unified = unified;
    return GRANARY_OK;
}

void
gr_unified_free(struct gr_unified *unified)
{
    for (size_t i = 0; unified->maps != NULL && i < unified->count; i++) {
        if (i == 0 || unified->maps[i] != unified->maps[i - 1]) {
            free(unified->maps[i]);
        }
    }
    free(unified->maps);
    gr_dictionary_unref(unified->dictionary);
    *unified = (struct gr_unified){0};
}

static bool
is_encoded(const struct gr_run *run)
{
    return run->column->dictionary != NULL;
}

/* One dictionary for all runs. Maps are NULL when codes are what they are. */
static granary_err
unify_runs(const struct gr_run *runs, size_t count, struct gr_unified *ret_unified)
{
    const granary_column **dictionaries = calloc(count + 1, sizeof *dictionaries);
    const granary_column *first = NULL;
    bool same = true;
    granary_err err = dictionaries == NULL ? gr_fail(GRANARY_ENOMEM, "dictionary: out of memory") : GRANARY_OK;

    *ret_unified = (struct gr_unified){0};
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        dictionaries[i] = runs[i].column->dictionary;
        first = first == NULL ? dictionaries[i] : first;
        same = same && (dictionaries[i] == NULL || gr_dictionary_equals(first, dictionaries[i]));
    }
    if (err == GRANARY_OK) {
        err = same ? gr_dictionary_keep(first, &ret_unified->dictionary)
                   : gr_dictionaries_unify(dictionaries, count, ret_unified);
    }
    free(dictionaries);
    return err;
}

/* Codes of all runs, one after the other; those that have none (null columns, no rows) give zeros. */
static granary_err
concat_codes(const struct gr_run *runs, size_t count, const struct gr_unified *unified, struct gr_column *ret_column)
{
    struct gr_column out;
    struct gr_run *plain = calloc(count, sizeof *plain);
    granary_column *codes = calloc(count, sizeof *codes);
    int32_t *values;
    int64_t at = 0;
    granary_err err = GRANARY_OK;

    if (plain == NULL || codes == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "dictionary: out of memory");
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        codes[i] = *runs[i].column;
        codes[i].dtype = is_encoded(&runs[i]) ? GRANARY_INT32 : GRANARY_NULLTYPE;
        codes[i].dictionary = NULL;
        plain[i] = (struct gr_run){&codes[i], runs[i].from, runs[i].rows};
    }
    err = err == GRANARY_OK ? gr_column_concat(plain, count, GRANARY_INT32, &out) : err;
    free(plain);
    free(codes);
    if (err != GRANARY_OK) {
        return err;
    }
    values = (int32_t *)(uintptr_t)out.view.values;
    for (size_t i = 0; i < count && unified->maps != NULL; i++) {
        for (int64_t row = 0; row < runs[i].rows && is_encoded(&runs[i]); row++) {
            values[at + row] = (int32_t)unified->maps[i][values[at + row]];
        }
        at += runs[i].rows;
    }
    if (out.view.validity != NULL && unified->maps != NULL) {
        gr_column_finish(&out); /* the codes under nulls are mapped as well, but stay 0 */
    }
    *ret_column = out;
    return GRANARY_OK;
}

/* Some runs are plain, or an encoding does not pay. */
static granary_err
concat_plain(const struct gr_run *runs, size_t count, struct gr_column *ret_column)
{
    struct gr_run *plain = calloc(count, sizeof *plain);
    struct gr_column *decoded = calloc(count, sizeof *decoded);
    granary_dtype dtype = GRANARY_STRING;
    granary_err err =
        plain == NULL || decoded == NULL ? gr_fail(GRANARY_ENOMEM, "dictionary: out of memory") : GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        plain[i] = runs[i];
        dtype = runs[i].column->dtype != GRANARY_NULLTYPE ? runs[i].column->dtype : dtype;
        if (is_encoded(&runs[i])) {
            err = decode(runs[i].column, runs[i].from, runs[i].rows, &decoded[i]);
            plain[i] = (struct gr_run){&decoded[i].view, 0, runs[i].rows};
        }
    }
    err = err == GRANARY_OK ? gr_column_concat(plain, count, dtype, ret_column) : err;
    for (size_t i = 0; decoded != NULL && i < count; i++) {
        gr_column_free(&decoded[i]);
    }
    free(decoded);
    free(plain);
    return err;
}

granary_err
encoded_concat(const struct gr_run *runs, size_t count, struct gr_column *ret_column)
{
    struct gr_unified unified;
    struct gr_column out;
    int64_t values = 0;
    bool plain = false;
    granary_err err;

    for (size_t i = 0; i < count; i++) {
        plain = plain || (!is_encoded(&runs[i]) && gr_dtype_is_text(runs[i].column->dtype) && runs[i].rows > 0);
        values += is_encoded(&runs[i]) ? runs[i].rows : 0;
    }
    if (plain || values == 0) {
        return concat_plain(runs, count, ret_column);
    }
    err = unify_runs(runs, count, &unified);
    if (err != GRANARY_OK) {
        return err;
    }
    if (!gr_dictionary_pays(unified.dictionary->column.view.rows, values)) {
        err = concat_plain(runs, count, ret_column);
    } else if ((err = concat_codes(runs, count, &unified, &out)) == GRANARY_OK) {
        gr_column_set_dictionary(&out, gr_dictionary_ref(unified.dictionary));
        *ret_column = out;
    }
    gr_unified_free(&unified);
    return err;
}

/* ---- encoding ---- */

granary_err
gr_column_encode(const granary_column *column, bool *ret_pays, struct gr_column *ret_column)
{
    uint64_t most = (uint64_t)column->rows / 4;
    struct gr_dictionary *dictionary;
    struct gr_column codes = {.owned = false};
    struct gr_column entries;
    struct gr_texts texts = {0};
    granary_err err = gr_column_alloc(GRANARY_INT32, column->rows, 0, column->validity != NULL, &codes);

    *ret_pays = false;
    for (int64_t i = 0; err == GRANARY_OK && i < column->rows && texts.count <= most; i++) {
        if (!gr_is_null(column, i)) {
            size_t size;
            const char *text = gr_text_at(column, i, &size);

            err = gr_texts_add(&texts, text, size, (uint32_t *)(uintptr_t)codes.view.values + i);
        }
    }
    if (err == GRANARY_OK && texts.count <= most &&
        (err = gr_texts_column(&texts, column->dtype, &entries)) == GRANARY_OK &&
        (err = gr_dictionary_create(&entries, &dictionary)) == GRANARY_OK) {
        if (column->validity != NULL) {
            memcpy((void *)(uintptr_t)codes.view.validity, column->validity, (size_t)gr_bitmap_bytes(column->rows));
        }
        gr_column_finish(&codes);
        gr_column_set_dictionary(&codes, dictionary);
        *ret_pays = true;
        *ret_column = codes;
        codes = (struct gr_column){.owned = false};
    }
    gr_column_free(&codes);
    gr_texts_free(&texts);
    return err;
}
