/* Expressions over one dictionary column, computed once for each entry. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/texts.h"
#include "kernel/rows/node.h"

struct lookup {
    int64_t entries; /* of the dictionary; behind them stands the value of null */
    enum rows_class class;
    void *values; /* TEXT: rows of `made` */
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

/* ---- making ---- */

/* Put the values of a computed block into the table. *ret_fits false: a value could not be computed, or is too wide. */
static granary_err
keep_block(struct node *node, int64_t from, int64_t n, struct lookup *lookup, struct gr_texts *texts, bool *ret_fits)
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
        const struct rows_text *values = node_texts(node, n);
        uint32_t *codes = lookup->values;
        granary_err err = GRANARY_OK;

        for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
            codes[from + i] = 0;
            err = node_counts(node, i) ? gr_texts_add(texts, values[i].bytes, values[i].size, &codes[from + i])
                                       : GRANARY_OK;
        }
        *ret_fits = gr_texts_bytes(texts) <= INT32_MAX;
        return err;
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
lookup_fill(struct net *net, struct node *node, struct node *source, struct lookup *lookup, struct gr_texts *texts,
            bool *ret_fits)
{
    static const uint8_t no_bits;
    static const int32_t no_offsets[2];
    const granary_column null = {
        .dtype = source->dtype, .rows = 1, .null_count = 1, .validity = &no_bits, .values = "", .offsets = no_offsets};
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
            err = err == GRANARY_OK ? keep_block(node, from, n, lookup, texts, ret_fits) : err;
        }
        if (n < ROWS_BLOCK && err == GRANARY_OK && *ret_fits) {
            source->column = &null;
            net_move(net, &(struct extent){.n = 1});
            err = net_compute(net, node);
            err = err == GRANARY_OK ? keep_block(node, lookup->entries, 1, lookup, texts, ret_fits) : err;
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
    struct gr_texts texts = {0};
    bool fits = true;
    granary_err err = GRANARY_OK;

    if (lookup == NULL) {
        return node_no_memory();
    }
    lookup->entries = source->column->dictionary->rows;
    lookup->class = node->base;
    lookup->all_valid = true;
    lookup->valid = malloc((size_t)lookup->entries + 1);
    lookup->values = malloc(((size_t)lookup->entries + 1) * value_size(lookup->class));
    if (lookup->valid == NULL || lookup->values == NULL) {
        err = node_no_memory();
    } else {
        err = lookup_fill(net, node, source, lookup, &texts, &fits);
    }
    if (err == GRANARY_OK && fits && lookup->class == ROWS_TEXT) {
        err = gr_texts_column(&texts, node->dtype, &lookup->made);
    }
    gr_texts_free(&texts);
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

void
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
}
