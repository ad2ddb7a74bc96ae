/*
 * Dictionary-encoded string columns. A dictionary is shared by the columns that are made from one another, so that rows
 * taken out of a column cost no strings; one that lies in somebody else's bytes is copied when a column outlives them.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "data/bits.h"
#include "data/encoded.h"

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
    codes->view.dtype = GRANARY_STRING;
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
    err = gr_column_concat(&run, 1, GRANARY_STRING, &copy);
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
    err = gr_column_alloc_unset(GRANARY_STRING, rows, bytes, column->validity != NULL, &out);
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
    if (err != GRANARY_OK) {
        gr_frame_destroy(plain);
        return err;
    }
    *ret_frame = plain;
    return GRANARY_OK;
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

        taken.dtype = GRANARY_STRING;
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

/* Distinct strings, numbered in the order in which they come. */
struct table {
    struct gr_column entries; /* room for all that may come; rows: how many there are */
    int32_t *slots;           /* number + 1; 0: free. At most half are taken. */
    size_t mask;
};

static void
table_fini(struct table *table)
{
    gr_column_free(&table->entries);
    free(table->slots);
}

static granary_err
table_init(struct table *table, int64_t rows, int64_t bytes)
{
    size_t slots = 64;
    granary_err err;

    *table = (struct table){.slots = NULL};
    if (rows > INT32_MAX / 2) {
        return gr_fail(GRANARY_EFULL, "a dictionary of %lld strings: too many; use smaller chunks", (long long)rows);
    }
    while (slots < 2 * (size_t)rows) {
        slots *= 2;
    }
    err = gr_column_alloc_unset(GRANARY_STRING, rows, bytes, false, &table->entries);
    if (err != GRANARY_OK) {
        return err;
    }
    ((int32_t *)(uintptr_t)table->entries.view.offsets)[0] = 0;
    table->entries.view.rows = 0;
    table->mask = slots - 1;
    table->slots = calloc(slots, sizeof *table->slots);
    if (table->slots == NULL) {
        table_fini(table);
        return gr_fail(GRANARY_ENOMEM, "dictionary: out of memory");
    }
    return GRANARY_OK;
}

/* The slot of a string, or the free one where it would go. */
static size_t
table_slot(const struct table *table, const char *text, int32_t length)
{
    const granary_column *entries = &table->entries.view;
    const int32_t *offsets = entries->offsets;
    size_t slot = XXH3_64bits(text, (size_t)length) & table->mask;
    int32_t number;

    while ((number = table->slots[slot] - 1) >= 0) {
        if (offsets[number + 1] - offsets[number] == length &&
            (length == 0 || memcmp((const char *)entries->values + offsets[number], text, (size_t)length) == 0)) {
            break;
        }
        slot = (slot + 1) & table->mask;
    }
    return slot;
}

/* Number of a string, or -1. */
static int32_t
table_find(const struct table *table, const char *text, int32_t length)
{
    return table->slots[table_slot(table, text, length)] - 1;
}

/* Number of a string, which is added unless it is there. */
static int32_t
table_number(struct table *table, const char *text, int32_t length)
{
    granary_column *entries = &table->entries.view;
    int32_t *offsets = (int32_t *)(uintptr_t)entries->offsets;
    size_t slot = table_slot(table, text, length);
    int32_t number = table->slots[slot] - 1;

    if (number < 0) {
        number = (int32_t)entries->rows++;
        table->slots[slot] = number + 1;
        if (length > 0) {
            memcpy((char *)(uintptr_t)entries->values + offsets[number], text, (size_t)length);
        }
        offsets[number + 1] = offsets[number] + length;
    }
    return number;
}

bool
gr_column_is_distinct(const granary_column *column)
{
    struct table table;
    bool distinct = table_init(&table, column->rows, column->offsets[column->rows] - column->offsets[0]) == GRANARY_OK;

    for (int64_t i = 0; distinct && i < column->rows; i++) {
        distinct = table_number(&table, (const char *)column->values + column->offsets[i],
                                column->offsets[i + 1] - column->offsets[i]) == i;
    }
    table_fini(&table);
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

/* The table's entries, in order, as a column of their own. */
static granary_err
sort_entries(const granary_column *distinct, struct gr_column *ret_entries)
{
    struct entry *order = malloc(((size_t)distinct->rows + 1) * sizeof *order);
    struct gr_column sorted;
    int32_t *offsets;
    granary_err err = order == NULL ? gr_fail(GRANARY_ENOMEM, "dictionary: out of memory") : GRANARY_OK;

    if (err == GRANARY_OK) {
        err = gr_column_alloc(GRANARY_STRING, distinct->rows, distinct->offsets[distinct->rows], false, &sorted);
    }
    if (err != GRANARY_OK) {
        free(order);
        return err;
    }
    for (int64_t i = 0; i < distinct->rows; i++) {
        order[i] = (struct entry){(const char *)distinct->values + distinct->offsets[i],
                                  distinct->offsets[i + 1] - distinct->offsets[i]};
    }
    qsort(order, (size_t)distinct->rows, sizeof *order, by_text);
    offsets = (int32_t *)(uintptr_t)sorted.view.offsets;
    for (int64_t i = 0; i < distinct->rows; i++) {
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
    struct table table;
    int64_t rows = 0;
    int64_t bytes = 0;
    granary_err err;

    for (size_t i = 0; i < count; i++) {
        rows += columns[i]->rows;
        bytes += columns[i]->rows == 0 ? 0 : columns[i]->offsets[columns[i]->rows];
    }
    if (bytes > INT32_MAX) {
        return gr_fail(GRANARY_EFULL, "dictionaries of more than 2 GiB together");
    }
    err = table_init(&table, rows, bytes);
    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < count && table.entries.view.rows <= limit; i++) {
        const granary_column *column = columns[i];

        for (int64_t row = 0; row < column->rows && table.entries.view.rows <= limit; row++) {
            if (!gr_is_null(column, row)) {
                (void)table_number(&table, (const char *)column->values + column->offsets[row],
                                   column->offsets[row + 1] - column->offsets[row]);
            }
        }
    }
    *ret_fits = table.entries.view.rows <= limit;
    if (*ret_fits) {
        err = sort_entries(&table.entries.view, ret_entries);
    }
    table_fini(&table);
    return err;
}

granary_err
gr_dictionary_positions(const granary_column *joined, const granary_column *column, int32_t *ret_positions)
{
    struct table table;
    granary_err err = table_init(&table, joined->rows + 1, joined->offsets[joined->rows] + INT32_C(1));

    if (err != GRANARY_OK) {
        return err;
    }
    for (int64_t e = 0; e < joined->rows; e++) {
        (void)table_number(&table, (const char *)joined->values + joined->offsets[e],
                           joined->offsets[e + 1] - joined->offsets[e]);
    }
    for (int64_t row = 0; row < column->rows && err == GRANARY_OK; row++) {
        if (gr_is_null(column, row)) {
            ret_positions[row] = 0;
            continue;
        }
        ret_positions[row] = table_find(&table, (const char *)column->values + column->offsets[row],
                                        column->offsets[row + 1] - column->offsets[row]);
        if (ret_positions[row] < 0) {
            err = gr_fail(GRANARY_EINVAL, "a string is not in the dictionary it is to be encoded with");
        }
    }
    table_fini(&table);
    return err;
}

static bool
same_entries(const granary_column *a, const granary_column *b)
{
    return a == b ||
           (a->rows == b->rows && memcmp(a->offsets, b->offsets, ((size_t)a->rows + 1) * sizeof(int32_t)) == 0 &&
            (a->offsets[a->rows] == 0 || memcmp(a->values, b->values, (size_t)a->offsets[a->rows]) == 0));
}

/* What each run's codes become in one dictionary for all. */
struct unified {
    struct gr_dictionary *dictionary; /* counted */
    int32_t **maps;                   /* one a run; NULL: as they are. A run may have that of the one before it. */
};

static void
maps_free(int32_t **maps, size_t count)
{
    for (size_t i = 0; maps != NULL && i < count; i++) {
        if (i == 0 || maps[i] != maps[i - 1]) {
            free(maps[i]);
        }
    }
    free(maps);
}

static bool
is_encoded(const struct gr_run *run)
{
    return run->column->dictionary != NULL;
}

/* The runs' dictionaries differ: number all entries, run after run. */
static granary_err
unify(const struct gr_run *runs, size_t count, struct unified *ret_unified)
{
    const granary_column *before = NULL;
    int32_t **maps = calloc(count, sizeof *maps);
    int64_t rows = 0;
    int64_t bytes = 0;
    struct table table = {.slots = NULL};
    granary_err err = maps == NULL ? gr_fail(GRANARY_ENOMEM, "dictionary: out of memory") : GRANARY_OK;

    for (size_t i = 0; i < count; i++) {
        const granary_column *entries = runs[i].column->dictionary;

        if (entries != NULL && entries != before) {
            rows += entries->rows;
            bytes += entries->offsets[entries->rows];
            before = entries;
        }
    }
    err = err == GRANARY_OK ? table_init(&table, rows, bytes) : err;
    before = NULL;
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        const granary_column *entries = runs[i].column->dictionary;

        if (entries == NULL || entries == before) {
            maps[i] = i == 0 ? NULL : maps[i - 1];
            continue;
        }
        before = entries;
        maps[i] = malloc(((size_t)entries->rows + 1) * sizeof **maps);
        if (maps[i] == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "dictionary: out of memory");
        }
        for (int64_t e = 0; err == GRANARY_OK && e < entries->rows; e++) {
            maps[i][e] = table_number(&table, (const char *)entries->values + entries->offsets[e],
                                      entries->offsets[e + 1] - entries->offsets[e]);
        }
    }
    if (err == GRANARY_OK) {
        err = gr_dictionary_create(&table.entries, &ret_unified->dictionary);
    }
    table_fini(&table);
    if (err != GRANARY_OK) {
        maps_free(maps, count);
        return err;
    }
    ret_unified->maps = maps;
    return GRANARY_OK;
}

/* One dictionary for all runs. */
static granary_err
unify_runs(const struct gr_run *runs, size_t count, struct unified *ret_unified)
{
    const granary_column *first = NULL;
    bool same = true;

    for (size_t i = 0; i < count && same; i++) {
        const granary_column *entries = runs[i].column->dictionary;

        first = first == NULL ? entries : first;
        same = entries == NULL || same_entries(first, entries);
    }
    *ret_unified = (struct unified){.maps = NULL};
    return same ? gr_dictionary_keep(first, &ret_unified->dictionary) : unify(runs, count, ret_unified);
}

/* Codes of all runs, one after the other; those that have none (null columns, no rows) give zeros. */
static granary_err
concat_codes(const struct gr_run *runs, size_t count, const struct unified *unified, struct gr_column *ret_column)
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
            values[at + row] = unified->maps[i][values[at + row]];
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
    granary_err err =
        plain == NULL || decoded == NULL ? gr_fail(GRANARY_ENOMEM, "dictionary: out of memory") : GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        plain[i] = runs[i];
        if (is_encoded(&runs[i])) {
            err = decode(runs[i].column, runs[i].from, runs[i].rows, &decoded[i]);
            plain[i] = (struct gr_run){&decoded[i].view, 0, runs[i].rows};
        }
    }
    err = err == GRANARY_OK ? gr_column_concat(plain, count, GRANARY_STRING, ret_column) : err;
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
    struct unified unified;
    struct gr_column out;
    int64_t values = 0;
    bool plain = false;
    granary_err err;

    for (size_t i = 0; i < count; i++) {
        plain = plain || (!is_encoded(&runs[i]) && runs[i].column->dtype == GRANARY_STRING && runs[i].rows > 0);
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
    gr_dictionary_unref(unified.dictionary);
    maps_free(unified.maps, count);
    return err;
}

/* ---- encoding ---- */

granary_err
gr_column_encode(const granary_column *column, bool *ret_pays, struct gr_column *ret_column)
{
    int64_t most = column->rows / 4;
    struct gr_dictionary *dictionary;
    struct gr_column codes = {.owned = false};
    struct table table;
    int32_t *values;
    granary_err err;

    *ret_pays = false;
    /* One more than may stay; the text of all rows is room enough for theirs. */
    err = table_init(&table, most + 1, column->rows > 0 ? column->offsets[column->rows] - column->offsets[0] : 0);
    if (err == GRANARY_OK) {
        err = gr_column_alloc(GRANARY_INT32, column->rows, 0, column->validity != NULL, &codes);
    }
    values = (int32_t *)(uintptr_t)codes.view.values;
    for (int64_t i = 0; err == GRANARY_OK && i < column->rows && table.entries.view.rows <= most; i++) {
        if (!gr_is_null(column, i)) {
            values[i] = table_number(&table, (const char *)column->values + column->offsets[i],
                                     column->offsets[i + 1] - column->offsets[i]);
        }
    }
    if (err == GRANARY_OK && table.entries.view.rows > 0 && table.entries.view.rows <= most &&
        (err = gr_dictionary_create(&table.entries, &dictionary)) == GRANARY_OK) {
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
    table_fini(&table);
    return err;
}
