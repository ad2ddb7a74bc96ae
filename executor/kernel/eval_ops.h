/* Inside eval: an expression as a list of nodes, each with the values of the block at hand. */
#ifndef KERNEL_EVAL_OPS_H
#define KERNEL_EVAL_OPS_H

#include "base/buf.h"
#include "graph/expr.h"
#include "kernel/eval.h"

/* How values lie in a block. */
enum eval_class {
    CLASS_NULL,   /* no values: every row is null */
    CLASS_INT,    /* int64_t: also dates and timestamps */
    CLASS_DOUBLE, /* double */
    CLASS_BOOL,   /* uint8_t, 0 or 1 */
    CLASS_TEXT,   /* struct eval_text */
};

struct eval_text {
    const char *bytes; /* not NUL-terminated; NULL only when size is 0 */
    size_t size;
};

struct eval_node {
    enum gr_expr_kind kind;
    enum gr_expr_op op; /* CALL */
    enum eval_class class;
    granary_dtype dtype;
    const granary_column *column;  /* COLUMN: borrowed */
    struct eval_node *operands[2]; /* CALL: owned, NULL where there is none */

    /* The block. Values under nulls are anything. */
    const void *values;
    const uint8_t *valid; /* a byte a row, 1: there is a value; NULL: all are there */

    void *buffer;          /* EVAL_BLOCK values, where values are not borrowed */
    uint8_t *valid_buffer; /* EVAL_BLOCK bytes */
    struct gr_buf text;    /* what lower() made */
};

/* Compute a CALL for n rows from its operands' blocks. *ret_bad: the row of the block whose integer arithmetic
 * overflowed, with EFAILED; the caller words the message. */
granary_err eval_call(struct eval_node *node, int64_t n, int64_t *ret_bad);

/* Bytes of one value in a block. */
size_t eval_class_size(enum eval_class class);

#endif
