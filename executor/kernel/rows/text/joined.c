/* concat() of SQL and concat_ws(): texts joined, without those that are null. */
#include <stdlib.h>

#include "kernel/rows/text/text.h"

/* The texts of row i from operand `from` on. */
static void
join_one(struct node *node, const struct rows_text *const *texts, size_t from, int64_t i)
{
    const struct rows_text *separator = from > 0 ? &texts[0][i] : NULL;
    bool first = true;

    for (size_t k = from; k < node->count; k++) {
        if (!node_counts(node->operands[k], i) || node->operands[k]->class == ROWS_NULL) {
            continue;
        }
        if (!first && separator != NULL && separator->size > 0) {
            gr_buf_add(&node->text, separator->bytes, separator->size);
        }
        if (texts[k][i].size > 0) {
            gr_buf_add(&node->text, texts[k][i].bytes, texts[k][i].size);
        }
        first = false;
    }
}

granary_err
op_joined(struct node *node, int64_t n)
{
    size_t from = node->op == GR_OP_CONCAT_WS;
    const struct node *separator = node->operands[0];
    const struct rows_text **texts = calloc(node->count, sizeof(const struct rows_text *));
    struct rows_text *out = node_room(node, ROWS_TEXT);
    uint8_t *valid = NULL;

    if (texts == NULL) {
        return node_no_memory();
    }
    for (size_t k = 0; k < node->count; k++) {
        texts[k] = node_texts(node->operands[k], n);
    }
    node_bad_of_operands(node, n);
    node->valid = NULL;
    node->text.size = 0;
    if (from > 0 && separator->valid != NULL) {
        valid = node_valid_room(node);
    }
    for (int64_t i = 0; i < n; i++) {
        size_t before = node->text.size;
        bool counts = from == 0 || node_counts(separator, i);

        if (counts && (node->bad == NULL || node->bad[i] == 0)) {
            join_one(node, texts, from, i);
        }
        if (node->text.size > TEXT_BLOCK_MOST) {
            node->text.size = before;
            node_mark_bad(node, i, n);
        }
        if (valid != NULL) {
            valid[i] = counts;
        }
        out[i].size = node->text.size - before;
    }
    free(texts);
    return node_place_texts(node, out, n);
}
