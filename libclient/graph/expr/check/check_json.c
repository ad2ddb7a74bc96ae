/* Dtypes of functions of JSON. */
#include <string.h>

#include "graph/expr/check/check.h"

/* A text, and a path or the number of an item. */
static granary_err
need_json(struct gr_expr *expr, granary_dtype dtype)
{
    granary_err err = expr_need_text(expr, 0);

    expr->dtype = dtype;
    if (err == GRANARY_OK && expr->operand_count > 1 && !expr_is_integer(expr->operands[1]->dtype)) {
        err = expr_need_text(expr, 1);
    }
    return err;
}

granary_err
expr_check_json_string(struct gr_expr *expr)
{
    return need_json(expr, GRANARY_STRING);
}

granary_err
expr_check_json_count(struct gr_expr *expr)
{
    return need_json(expr, GRANARY_INT64);
}

granary_err
expr_check_json_ask(struct gr_expr *expr)
{
    return need_json(expr, GRANARY_BOOL);
}

granary_err
expr_check_json_keys(struct gr_expr *expr)
{
    return need_json(expr, GRANARY_LIST(GRANARY_STRING));
}

/* What it is to tell is known before any row. */
granary_err
expr_check_json_each(struct gr_expr *expr)
{
    static const char *const names[] = {
#define JSON_PART(id, name) name,
#include "graph/json_parts.def"
    };
    const struct gr_expr *what = expr->operands[2];
    bool known = false;

    for (size_t i = 0; i < sizeof names / sizeof names[0] && !known; i++) {
        known = expr_is_literal(what) && what->dtype == GRANARY_STRING && strcmp(what->text, names[i]) == 0;
    }
    return known ? expr_check_texts(expr)
                 : expr_wrong_operand(expr, 2,
                                      "'key', 'value', 'type', 'atom', 'id', 'parent', 'fullkey' or 'path' as written");
}
