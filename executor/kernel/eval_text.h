/* The functions of expressions that look at characters. */
#ifndef KERNEL_EVAL_TEXT_H
#define KERNEL_EVAL_TEXT_H

#include "kernel/eval_ops.h"

/* Each letter in lower case, one by one. Errors: ENOMEM · EUNSUPPORTED text beyond ASCII without the C.UTF-8 locale */
granary_err eval_text_lower(struct eval_node *node, int64_t n);

/* How many characters (code points). */
void eval_text_length(struct eval_node *node, int64_t n);

#endif
