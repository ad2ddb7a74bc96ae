/* Why a value could not be computed, in words. */
#include <stdio.h>

#include "contract/int128.h"
#include "data/value/bytes.h"
#include "graph/dtype_class.h"
#include "kernel/rows/node.h"
#include "kernel/rows/store.h"
#include "kernel/rows/text/regex.h"

/* Text i of a node; NULL: it has none. */
static const struct rows_text *
text_of(const struct node *node, int64_t i)
{
    const struct rows_text *texts = node->class == ROWS_TEXT ? node->values : node->texts;

    return texts == NULL ? NULL : &texts[i];
}

/* Value i of a node as CSV files have it, cut. */
static void
show(const struct node *node, int64_t i, struct gr_buf *out)
{
    size_t width = node->class == ROWS_WIDE ? 16 : node->class == ROWS_BOOL ? 1 : 8;
    gr_int128 stored = 0;
    granary_column one = {.dtype = node->dtype, .rows = 1, .values = &stored};

    if (node->class == ROWS_TEXT || node->class == ROWS_CODE) {
        const struct rows_text *text = text_of(node, i);

        if (text != NULL && node->dtype == GRANARY_BINARY) {
            gr_bytes_format(text->size > 0 ? text->bytes : "", text->size > 30 ? 30 : text->size, out);
        } else if (text != NULL) {
            gr_buf_addf(out, "'%.*s'", (int)(text->size > 60 ? 60 : text->size), text->size > 0 ? text->bytes : "");
        }
        return;
    }
    if (node->class == ROWS_LIST) {
        gr_buf_addf(out, "a list of %d items", (int)((const struct rows_list *)node->values)[i].count);
        return;
    }
    store_values(node->dtype, node->class, (const char *)node->values + (size_t)i * width, 1, &stored, 0);
    gr_value_format(&one, 0, out);
}

/* Which dtype it is of comes before it, what to do about it and the values behind it. */
static const char overflow[] = "overflow";

static const char *
reason_of(const struct node *node)
{
    static const char beyond[] = "beyond the days and times there are:";
    const char *reason = gr_expr_op_failure(node->op).reason;

    switch (node->op) {
    case GR_OP_CAST:
    case GR_OP_TRY_CAST:
    case GR_OP_CONVERT:
        return NULL;
    case GR_OP_NEGATE:
        if (gr_dtype_class(node->dtype) == GR_CLASS_UNSIGNED) {
            return "an unsigned integer has no negative (cast it to int64 first):";
        }
        break;
    default:
        break;
    }
    if (reason != NULL) {
        return reason;
    }
    return gr_dtype_class(node->dtype) == GR_CLASS_MOMENT ? beyond : overflow;
}

static bool
is_of_regex(const struct node *node)
{
    return node->op == GR_OP_REGEXP_EXTRACT_ALL || node->op == GR_OP_REGEXP_SPLIT_TO_ARRAY ||
           node->op == GR_OP_REGEXP_MATCHES || node->op == GR_OP_REGEXP_EXTRACT || node->op == GR_OP_REGEXP_FOUND ||
           node->op == GR_OP_REGEXP_REPLACE;
}

/* The expression is asked again: what was wrong with it was not kept. */
static void
explain_regex(const struct node *node, int64_t i, struct gr_buf *out)
{
    const struct rows_text *pattern = text_of(node->operands[1], i);
    const struct rows_text *flags =
        node->op == GR_OP_REGEXP_REPLACE && node->count > 3 ? text_of(node->operands[3], i) : NULL;
    struct regex *regex = NULL;
    int wrong = pattern == NULL ? 0 : regex_create(pattern, false, &regex);
    int64_t group = node->op != GR_OP_REGEXP_REPLACE && node->count > 2 ? node_int_at(node->operands[2], i) : 0;

    gr_buf_addf(out, "regular expression ");
    show(node->operands[1], i, out);
    if (wrong != 0) {
        gr_buf_addf(out, " ");
        regex_explain(wrong, out);
    } else if (regex != NULL && (group < 0 || group > (int64_t)regex_groups(regex))) {
        gr_buf_addf(out, " has no group %lld", (long long)group);
    } else if (flags != NULL && flags->size > 0 && !(flags->size == 1 && flags->bytes[0] == 'g')) {
        gr_buf_addf(out, " with the flag ");
        show(node->operands[3], i, out);
        gr_buf_addf(out, ": only 'g' is one, which replaces all matches");
    } else {
        gr_buf_addf(out, " takes too many steps in ");
        show(node->operands[0], i, out);
        gr_buf_addf(out, ": write it so that one text is matched in one way, (a|b)* and not (a*|b)*");
    }
    regex_destroy(regex);
}

static void
explain_overflow(const struct node *node, const char *values, char *ret_text, size_t size)
{
    bool span = node->dtype == GRANARY_DURATION;
    char remedy[60] = "";

    if (!span) {
        (void)snprintf(remedy, sizeof remedy, " (cast %s to %s)", node->count > 1 ? "one" : "it",
                       gr_dtype_wider(node->dtype));
    }
    (void)snprintf(ret_text, size, "%s %s%s of %s",
                   span                                            ? "duration"
                   : gr_dtype_kind(node->dtype) == GRANARY_DECIMAL ? "decimal"
                                                                   : "integer",
                   overflow, remedy, values);
}

void
op_reason(const struct node *node, int64_t i, char *ret_text, size_t size)
{
    const char *reason = reason_of(node);
    struct gr_buf out = {0};

    if (is_of_regex(node)) {
        explain_regex(node, i, &out);
        (void)snprintf(ret_text, size, "%s", out.bytes != NULL ? out.bytes : "out of memory");
        gr_buf_free(&out);
        return;
    }
    if (node->op == GR_OP_SINGLE) {
        (void)snprintf(ret_text, size,
                       "a subquery that stands for a value gave %lld rows: aggregate it, or write LIMIT 1",
                       (long long)node_int_at(node->operands[1], i));
        return;
    }
    for (size_t k = 0; k < node->count && k < 4; k++) {
        gr_buf_addf(&out, k > 0 ? " and " : "");
        show(node->operands[k], i, &out);
    }
    if (reason == NULL && node->expr->digits > 0) {
        (void)snprintf(ret_text, size, "%s is no decimal(%d, %d)", out.bytes != NULL ? out.bytes : "",
                       node->expr->digits, gr_dtype_scale(node->dtype));
    } else if (reason == NULL) {
        (void)snprintf(ret_text, size, "%s is no %s", out.bytes != NULL ? out.bytes : "",
                       granary_dtype_name(node->dtype));
    } else if (reason == overflow) {
        explain_overflow(node, out.bytes != NULL ? out.bytes : "", ret_text, size);
    } else {
        (void)snprintf(ret_text, size, "%s %s", reason, out.bytes != NULL ? out.bytes : "");
    }
    gr_buf_free(&out);
}
