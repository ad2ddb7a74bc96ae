/* try(x): what cannot be computed is null. */
#include "kernel/rows/node.h"

granary_err
op_try(struct node *node, int64_t n)
{
    struct node *of = node->operands[0];
    uint8_t *valid;

    node->class = of->class == ROWS_CODE ? ROWS_TEXT : of->class;
    node->values = of->class == ROWS_CODE ? (const void *)node_texts(of, n) : of->values;
    node->valid = of->valid;
    node->bad = NULL;
    if (of->bad != NULL) {
        valid = node_valid_room(node);
        for (int64_t i = 0; i < n; i++) {
            valid[i] = (uint8_t)((of->valid == NULL || of->valid[i] != 0) && of->bad[i] == 0);
        }
    }
    return GRANARY_OK;
}
