/* Why a value could not be computed, in words. */
#include <stdio.h>

#include "kernel/rows/node.h"
#include "kernel/rows/store.h"

/* Value i of a node as CSV files have it, cut. */
static void
show(const struct node *node, int64_t i, struct gr_buf *out)
{
    size_t width = node->class == ROWS_WIDE ? 16 : node->class == ROWS_BOOL ? 1 : 8;
    __int128 stored = 0;
    granary_column one = {.dtype = node->dtype, .rows = 1, .values = &stored};

    if (node->class == ROWS_TEXT || node->class == ROWS_CODE) {
        const struct rows_text *texts = node->class == ROWS_TEXT ? node->values : node->texts;

        if (texts != NULL) {
            gr_buf_addf(out, "'%.*s'", (int)(texts[i].size > 60 ? 60 : texts[i].size),
                        texts[i].size > 0 ? texts[i].bytes : "");
        }
        return;
    }
    store_values(node->dtype, node->class, (const char *)node->values + (size_t)i * width, 1, &stored, 0);
    gr_value_format(&one, 0, out);
}

static const char *
reason_of(const struct node *node)
{
    switch (node->op) {
    case GR_OP_CAST:
    case GR_OP_TRY_CAST:
    case GR_OP_CONVERT:
        return NULL;
    case GR_OP_LIKE:
    case GR_OP_ILIKE:
        return "broken pattern (the escape is one character, and something follows it):";
    case GR_OP_REGEXP_MATCHES:
        return "broken regular expression:";
    case GR_OP_REGEXP_EXTRACT:
        return "broken regular expression, or one without that group:";
    case GR_OP_REGEXP_REPLACE:
        return "broken regular expression, or a flag that is not 'g':";
    case GR_OP_STRFTIME:
        return "a part of the format is unknown:";
    case GR_OP_STRPTIME:
        return "the text is not of that form, or there is no such time:";
    case GR_OP_MAKE_DATE:
        return "there is no such day:";
    case GR_OP_DATE_TRUNC:
    case GR_OP_ADD_INTERVAL:
        return "beyond the days and times there are:";
    case GR_OP_REPEAT:
    case GR_OP_REPLACE:
    case GR_OP_CONCAT:
    case GR_OP_LPAD:
    case GR_OP_RPAD:
    case GR_OP_ZFILL:
        return "the text becomes too long:";
    default:
        return gr_dtype_kind(node->dtype) == GRANARY_DECIMAL ? "decimal overflow of"
               : node->dtype == GRANARY_INT64 || node->dtype == GRANARY_UINT64 || node->dtype == GRANARY_DURATION
                   ? "integer overflow of"
                   : "integer overflow (cast one to int64) of";
    }
}

void
op_reason(const struct node *node, int64_t i, char *ret_text, size_t size)
{
    const char *reason = reason_of(node);
    struct gr_buf out = {0};

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
    } else {
        (void)snprintf(ret_text, size, "%s %s", reason, out.bytes != NULL ? out.bytes : "");
    }
    gr_buf_free(&out);
}
