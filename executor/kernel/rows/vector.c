/* What all operators on blocks share. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/dtype_class.h"
#include "kernel/core/scratch.h"
#include "kernel/rows/node.h"

enum { WIDE_BYTES = ROWS_BLOCK * sizeof(gr_int128) };

/* Vectors begin where cache lines do. */
granary_err
node_room_init(struct node *node, bool texts)
{
    node->buffer = scratch_alloc(WIDE_BYTES + 2 * ROWS_BLOCK);
    node->texts = texts ? scratch_alloc(ROWS_BLOCK * sizeof *node->texts) : NULL;
    if (node->buffer == NULL || (texts && node->texts == NULL)) {
        return node_no_memory();
    }
    node->valid_buffer = (uint8_t *)node->buffer + WIDE_BYTES;
    node->bad_buffer = node->valid_buffer + ROWS_BLOCK;
    return GRANARY_OK;
}

void
node_room_fini(struct node *node)
{
    scratch_free(node->buffer);
    scratch_free(node->texts);
}

void *
node_room(struct node *node, enum rows_class class)
{
    node->values = node->buffer;
    node->class = class;
    return node->buffer;
}

uint8_t *
node_valid_room(struct node *node)
{
    node->valid = node->valid_buffer;
    return node->valid_buffer;
}

uint8_t *
node_bad_room(struct node *node, int64_t n)
{
    if (node->bad == NULL) {
        memset(node->bad_buffer, 0, (size_t)n);
    } else if (node->bad != node->bad_buffer) {
        memcpy(node->bad_buffer, node->bad, (size_t)n);
    }
    node->bad = node->bad_buffer;
    return node->bad_buffer;
}

void
node_mark_bad(struct node *node, int64_t i, int64_t n)
{
    node_bad_room(node, n)[i] = 1;
}

void
node_bad_of_operands(struct node *node, int64_t n)
{
    node->bad = NULL;
    for (size_t k = 0; k < node->count; k++) {
        const uint8_t *more = node->operands[k]->bad;
        uint8_t *bad;

        if (more == NULL) {
            continue;
        }
        if (node->bad == NULL) {
            node->bad = more;
            continue;
        }
        bad = node_bad_room(node, n);
        for (int64_t i = 0; i < n; i++) {
            bad[i] |= more[i];
        }
    }
}

void
node_strict(struct node *node, int64_t n)
{
    node->valid = NULL;
    for (size_t k = 0; k < node->count; k++) {
        const uint8_t *more = node->operands[k]->valid;
        const uint8_t *before = node->valid;
        uint8_t *valid;

        if (more == NULL || more == before) {
            continue;
        }
        if (before == NULL) {
            node->valid = more;
            continue;
        }
        valid = node_valid_room(node);
        for (int64_t i = 0; i < n; i++) {
            valid[i] = before[i] & more[i];
        }
    }
    node_bad_of_operands(node, n);
}

const struct rows_text *
node_texts(struct node *node, int64_t n)
{
    const int32_t *codes = node->values;
    const granary_column *entries = node->dictionary;

    if (node->class == ROWS_TEXT) {
        return node->values;
    }
    if (node->class != ROWS_CODE || entries->rows == 0) {
        memset(node->texts, 0, (size_t)n * sizeof *node->texts);
        return node->texts;
    }
    for (int64_t i = 0; i < n; i++) {
        int32_t begin = entries->offsets[codes[i]];
        size_t size = (size_t)(entries->offsets[codes[i] + 1] - begin);

        node->texts[i] = (struct rows_text){size > 0 ? (const char *)entries->values + begin : NULL, size};
    }
    return node->texts;
}

granary_err
node_place_texts(const struct node *node, struct rows_text *texts, int64_t n)
{
    size_t begin = 0;

    if (!gr_buf_ok(&node->text)) {
        return node_no_memory();
    }
    for (int64_t i = 0; i < n; i++) {
        texts[i].bytes = texts[i].size > 0 ? node->text.bytes + begin : NULL;
        begin += texts[i].size;
    }
    return GRANARY_OK;
}

void
node_settle_exact(struct node *node, int64_t n)
{
    const struct gr_limits limits = gr_dtype_limits(node->dtype);
    const gr_int128 *exact = node->buffer;
    bool narrow = true;
    bool beyond = false;

    for (int64_t i = 0; i < n; i++) {
        bool counts = node_counts(node, i);

        beyond |= counts && (exact[i] < limits.least || exact[i] > limits.most);
        narrow = narrow && (!counts || (exact[i] >= INT64_MIN && exact[i] <= INT64_MAX));
    }
    if (beyond) {
        uint8_t *bad = node_bad_room(node, n);

        for (int64_t i = 0; i < n; i++) {
            bad[i] |= node_counts(node, i) && (exact[i] < limits.least || exact[i] > limits.most);
        }
    }
    /* Only decimals and uint64 have wide blocks; what is beyond other dtypes is bad and may be anything. */
    if (narrow || (gr_dtype_kind(node->dtype) != GRANARY_DECIMAL && node->dtype != GRANARY_UINT64)) {
        int64_t *values = node_room(node, ROWS_INT); /* each lies at or before the wide one it is made of */

        for (int64_t i = 0; i < n; i++) {
            values[i] = (int64_t)exact[i];
        }
    }
}

void
node_check_range(struct node *node, int64_t n)
{
    const int64_t *values = node->values;
    const struct gr_limits limits = gr_dtype_limits(node->dtype);
    int64_t low = (int64_t)limits.least;
    int64_t high = limits.most > INT64_MAX ? INT64_MAX : (int64_t)limits.most;
    unsigned outside = 0;
    uint8_t *bad;

    if (gr_dtype_kind(node->dtype) == GRANARY_DECIMAL || (low == INT64_MIN && high == INT64_MAX)) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        outside |= (unsigned)(values[i] < low) | (unsigned)(values[i] > high);
    }
    if (outside == 0) {
        return;
    }
    bad = node_bad_room(node, n);
    for (int64_t i = 0; i < n; i++) {
        bad[i] |= node_counts(node, i) && (values[i] < low || values[i] > high);
    }
}

int
text_order(const struct rows_text *a, const struct rows_text *b)
{
    size_t size = a->size < b->size ? a->size : b->size;
    int order = size > 0 ? memcmp(a->bytes, b->bytes, size) : 0;

    return order != 0 ? (order > 0) - (order < 0) : (a->size > b->size) - (a->size < b->size);
}
