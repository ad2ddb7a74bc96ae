/* Expressions over one dictionary column, computed once for each entry. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/rows/node.h"

struct lookup {
    int64_t entries; /* of the dictionary; behind them stands the value of null */
    enum rows_class class;
    void *values; /* TEXT: int32 rows of `made` */
    uint8_t *valid;
    bool all_valid;
    struct gr_column made; /* distinct texts */
    granary_column view;
};

static size_t value_size(enum rows_class class)
{
    switch (class) {
    case ROWS_BOOL:
        return 1;
    case ROWS_TEXT:
        return sizeof(int32_t);
    default:
        return 8;
    }
}

void
lookup_free(struct lookup *lookup)
{
    if (lookup != NULL) {
        free(lookup->values);
        free(lookup->valid);
        gr_column_free(&lookup->made);
        free(lookup);
    }
}

/* The made dictionary of strings, or NULL. */
static const granary_column *
lookup_dictionary(const struct lookup *lookup)
{
    return lookup->class == ROWS_TEXT ? &lookup->made.view : NULL;
}

/* ---- texts made distinct ---- */

struct intern {
    struct gr_buf bytes;
    struct gr_buf ends; /* int32_t, one a text */
    int32_t *slots;     /* text + 1, or 0 */
    size_t slot_count;  /* a power of two */
    int32_t count;
};

static uint64_t
text_hash(const struct rows_text *text)
{
    uint64_t hash = 1469598103934665603u;

    for (size_t i = 0; i < text->size; i++) {
        hash = (hash ^ (unsigned char)text->bytes[i]) * 1099511628211u;
    }
    return hash ^ hash >> 32;
}

static struct rows_text
intern_at(const struct intern *intern, int32_t code)
{
    const int32_t *ends = (const int32_t *)(const void *)intern->ends.bytes;
    int32_t begin = code > 0 ? ends[code - 1] : 0;

    return (struct rows_text){intern->bytes.bytes + begin, (size_t)(ends[code] - begin)};
}

/* The number of a text, which is new or was seen before; there are fewer texts than slots. -1: out of memory or room */
static int32_t
intern_add(struct intern *intern, const struct rows_text *text)
{
    size_t slot = text_hash(text) & (intern->slot_count - 1);
    int32_t end;

    for (; intern->slots[slot] != 0; slot = (slot + 1) & (intern->slot_count - 1)) {
        struct rows_text other = intern_at(intern, intern->slots[slot] - 1);

        if (other.size == text->size && (text->size == 0 || memcmp(other.bytes, text->bytes, text->size) == 0)) {
            return intern->slots[slot] - 1;
        }
    }
    gr_buf_add(&intern->bytes, text->size > 0 ? text->bytes : "", text->size);
    if (intern->bytes.size > INT32_MAX) {
        return -1;
    }
    end = (int32_t)intern->bytes.size;
    gr_buf_add(&intern->ends, &end, sizeof end);
    if (!gr_buf_ok(&intern->bytes) || !gr_buf_ok(&intern->ends)) {
        return -1;
    }
    intern->slots[slot] = ++intern->count;
    return intern->count - 1;
}

static granary_err
intern_finish(struct intern *intern, struct lookup *lookup)
{
    granary_err err = gr_column_alloc(GRANARY_STRING, intern->count, (int64_t)intern->bytes.size, false, &lookup->made);

    if (err != GRANARY_OK) {
        return err;
    }
    if (intern->count > 0) {
        memcpy((int32_t *)(uintptr_t)lookup->made.view.offsets + 1, intern->ends.bytes,
               (size_t)intern->count * sizeof(int32_t));
    }
    if (intern->bytes.size > 0) {
        memcpy((void *)(uintptr_t)lookup->made.view.values, intern->bytes.bytes, intern->bytes.size);
    }
    return GRANARY_OK;
}

static void
intern_free(struct intern *intern)
{
    gr_buf_free(&intern->bytes);
    gr_buf_free(&intern->ends);
    free(intern->slots);
}

/* ---- making ---- */

/* Put the values of a computed block into the table. *ret_fits false: a value could not be computed, or is too wide. */
static granary_err
keep_block(struct node *node, int64_t from, int64_t n, struct lookup *lookup, struct intern *intern, bool *ret_fits)
{
    for (int64_t i = 0; i < n && node->bad != NULL; i++) {
        if (node->bad[i] != 0) {
            *ret_fits = false;
            return GRANARY_OK;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        lookup->valid[from + i] = node_counts(node, i);
        lookup->all_valid = lookup->all_valid && node_counts(node, i);
    }
    if (lookup->class == ROWS_TEXT) {
        const struct rows_text *texts = node_texts(node, n);
        int32_t *codes = lookup->values;

        if (texts == NULL) {
            return node_no_memory();
        }
        for (int64_t i = 0; i < n; i++) {
            codes[from + i] = node_counts(node, i) ? intern_add(intern, &texts[i]) : 0;
            *ret_fits = *ret_fits && codes[from + i] >= 0;
        }
        return gr_buf_ok(&intern->bytes) && gr_buf_ok(&intern->ends) ? GRANARY_OK : node_no_memory();
    }
    if (node->class != lookup->class) {
        *ret_fits = false;
        return GRANARY_OK;
    }
    memcpy((char *)lookup->values + (size_t)from * value_size(lookup->class), node->values,
           (size_t)n * value_size(lookup->class));
    return GRANARY_OK;
}

/* All entries, then a row with null, as if they were the column's values. */
static granary_err
fill(struct net *net, struct node *node, struct node *source, struct lookup *lookup, struct intern *intern,
     bool *ret_fits)
{
    static const uint8_t no_bits;
    static const int32_t no_offsets[2];
    const granary_column null = {
        .dtype = GRANARY_STRING, .rows = 1, .null_count = 1, .validity = &no_bits, .values = "", .offsets = no_offsets};
    const granary_column *column = source->column;
    granary_err err = GRANARY_OK;

    source->base = ROWS_TEXT;
    net_fill(net, true);
    for (int64_t from = 0; from <= lookup->entries && err == GRANARY_OK && *ret_fits; from += ROWS_BLOCK) {
        int64_t n = lookup->entries - from < ROWS_BLOCK ? lookup->entries - from : ROWS_BLOCK;

        source->column = column->dictionary;
        if (n > 0) {
            net_move(net, &(struct extent){.from = from, .n = n});
            err = net_compute(net, node);
            err = err == GRANARY_OK ? keep_block(node, from, n, lookup, intern, ret_fits) : err;
        }
        if (n < ROWS_BLOCK && err == GRANARY_OK && *ret_fits) {
            source->column = &null;
            net_move(net, &(struct extent){.n = 1});
            err = net_compute(net, node);
            err = err == GRANARY_OK ? keep_block(node, lookup->entries, 1, lookup, intern, ret_fits) : err;
        }
    }
    source->column = column;
    source->base = ROWS_CODE;
    source->dictionary = column->dictionary;
    net_fill(net, false);
    net_move(net, &(struct extent){0});
    return err;
}

granary_err
lookup_make(struct net *net, struct node *node)
{
    struct node *source = (struct node *)(uintptr_t)node->source; /* the net's own */
    struct lookup *lookup = calloc(1, sizeof *lookup);
    struct intern intern = {.slot_count = 64};
    bool fits = true;
    granary_err err = GRANARY_OK;

    if (lookup == NULL) {
        return node_no_memory();
    }
    lookup->entries = source->column->dictionary->rows;
    lookup->class = node->base;
    lookup->all_valid = true;
    while (intern.slot_count < (size_t)lookup->entries * 2 + 2) {
        intern.slot_count *= 2;
    }
    intern.slots = lookup->class == ROWS_TEXT ? calloc(intern.slot_count, sizeof *intern.slots) : NULL;
    lookup->valid = malloc((size_t)lookup->entries + 1);
    lookup->values = malloc(((size_t)lookup->entries + 1) * value_size(lookup->class));
    if (lookup->valid == NULL || lookup->values == NULL || (lookup->class == ROWS_TEXT && intern.slots == NULL)) {
        err = node_no_memory();
    } else {
        err = fill(net, node, source, lookup, &intern, &fits);
    }
    if (err == GRANARY_OK && fits && lookup->class == ROWS_TEXT) {
        err = intern_finish(&intern, lookup);
    }
    intern_free(&intern);
    if (err != GRANARY_OK || !fits) {
        lookup_free(lookup);
        return err;
    }
    node->kind = NODE_LOOKUP;
    node->lookup = lookup;
    node->base = lookup->class == ROWS_TEXT ? ROWS_CODE : lookup->class;
    node->dictionary = lookup_dictionary(lookup);
    return GRANARY_OK;
}

/* ---- using ---- */

granary_err
lookup_compute(struct node *node, int64_t n)
{
    const struct node *source = node->source;
    const struct lookup *lookup = node->lookup;
    const int32_t *codes = source->values;
    void *room = node_room(node, node->base);
    int32_t *places = NULL;
    uint8_t *valid;

    node->valid = NULL;
    node->bad = NULL;
    node->dictionary = lookup_dictionary(lookup);
    if (room == NULL) {
        return node_no_memory();
    }
    if (source->valid != NULL) {
        /* Nulls take the value behind the last entry. */
        places = (int32_t *)room + (size_t)2 * ROWS_BLOCK; /* the second half of the room */
        for (int64_t i = 0; i < n; i++) {
            places[i] = source->valid[i] != 0 ? codes[i] : (int32_t)lookup->entries;
        }
        codes = places;
    }
    if (!lookup->all_valid) {
        valid = node_valid_room(node);
        if (valid == NULL) {
            return node_no_memory();
        }
        for (int64_t i = 0; i < n; i++) {
            valid[i] = lookup->valid[codes[i]];
        }
    }
    switch (lookup->class) {
    case ROWS_BOOL:
        for (int64_t i = 0; i < n; i++) {
            ((uint8_t *)room)[i] = ((const uint8_t *)lookup->values)[codes[i]];
        }
        break;
    case ROWS_TEXT:
        for (int64_t i = 0; i < n; i++) {
            ((int32_t *)room)[i] = ((const int32_t *)lookup->values)[codes[i]];
        }
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            ((uint64_t *)room)[i] = ((const uint64_t *)lookup->values)[codes[i]];
        }
        break;
    }
    return GRANARY_OK;
}
