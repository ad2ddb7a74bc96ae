/* Inside rows: functions of strings, a row at a time. text.c calls them; those of patterns and of dates' texts stand in
 * files of their own. */
#ifndef KERNEL_ROWS_TEXT_H
#define KERNEL_ROWS_TEXT_H

#include "kernel/rows/node.h"

#define TEXT_OPERANDS 4 /* concat aside */

enum {
    TEXT_VALUE_MOST = 16 << 20,  /* bytes of one value that a function makes longer */
    TEXT_BLOCK_MOST = 512 << 20, /* bytes of a block's values */
};

/* A call for one row. */
struct text_call {
    struct node *node;
    struct rows_text texts[TEXT_OPERANDS]; /* operands that are strings */
    int64_t ints[TEXT_OPERANDS];           /* and integers, dates, timestamps */
    double reals[TEXT_OPERANDS];           /* and floats */
    struct gr_buf *out;                    /* where a string goes */
    int64_t value;                         /* what else comes of it */
    double real;                           /* the same of a float64 */
    bool null;                             /* nothing comes of it */
    bool no_memory;
};

static inline struct rows_text
text_between(const struct rows_text *text, size_t from, size_t to)
{
    return to > from ? (struct rows_text){text->bytes + from, to - from} : (struct rows_text){0};
}

static inline bool
text_give(struct text_call *call, struct rows_text text)
{
    gr_buf_add(call->out, text.size > 0 ? text.bytes : "", text.size);
    return true;
}

/* Letters of the first text, from a byte on: a word that begins with a capital. */
void text_add_word(struct text_call *call, size_t from, size_t to);

/* Compute a node of n rows by a function of one. Errors: ENOMEM */
granary_err text_compute(struct node *node, text_function *function, int64_t n);

#endif
