/* A condition's parts tried against bounds: a piece none of whose rows can fulfil one of them is not read. */
#include "tile/source/zone.h"

#include <stdlib.h>
#include <string.h>

#include "tile/core/chunk.h"

#include "data/frame.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"
#include "tile/core/measured.h"

#define EXACT_MOST ((int64_t)1 << 53) /* integers up to it are doubles, too */

struct zone_test {
    struct gr_expr **parts; /* all must be fulfilled; owned */
    size_t count;
};

/* Parts over columns that are computed on the way say nothing of zones. */
static granary_err
take_parts(const struct gr_expr *expr, const struct gr_schema *schema, struct zone_test *test)
{
    const struct gr_expr **parts = NULL;
    size_t count = 0;
    granary_err err = gr_expr_conjuncts(expr, &parts, &count);

    if (err == GRANARY_OK && (test->parts = calloc(count + 1, sizeof(struct gr_expr *))) == NULL) {
        err = tile_no_memory();
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        struct gr_expr *part = NULL;

        err = gr_expr_copy(parts[i], &part);
        if (err == GRANARY_OK && gr_expr_check(part, schema) == GRANARY_OK) {
            test->parts[test->count++] = part;
        } else {
            gr_expr_destroy(part);
        }
    }
    free(parts);
    return err;
}

granary_err
zone_test_create(const struct gr_expr *where, const struct gr_schema *schema, struct zone_test **ret_test)
{
    struct zone_test *test = calloc(1, sizeof *test);
    granary_err err = test == NULL ? tile_no_memory() : take_parts(where, schema, test);

    if (err != GRANARY_OK) {
        zone_test_destroy(test);
        return err;
    }
    *ret_test = test;
    return GRANARY_OK;
}

void
zone_test_destroy(struct zone_test *test)
{
    for (size_t i = 0; test != NULL && i < test->count; i++) {
        gr_expr_destroy(test->parts[i]);
    }
    if (test != NULL) {
        free(test->parts);
        free(test);
    }
}

struct gr_expr *const *
zone_test_parts(const struct zone_test *test, size_t *ret_count)
{
    *ret_count = test->count;
    return test->parts;
}

/* What a zone and a literal are compared as. */
enum kind { KIND_NONE, KIND_INTEGER, KIND_REAL, KIND_DECIMAL, KIND_TEXT };

static enum kind
kind_of(granary_dtype dtype)
{
    static const enum kind kinds[] = {
        [GR_CLASS_NULL] = KIND_NONE,        [GR_CLASS_BOOL] = KIND_INTEGER,   [GR_CLASS_SIGNED] = KIND_INTEGER,
        [GR_CLASS_UNSIGNED] = KIND_INTEGER, [GR_CLASS_REAL] = KIND_REAL,      [GR_CLASS_DECIMAL] = KIND_DECIMAL,
        [GR_CLASS_DURATION] = KIND_INTEGER, [GR_CLASS_MOMENT] = KIND_INTEGER, [GR_CLASS_TEXT] = KIND_TEXT,
        [GR_CLASS_BYTES] = KIND_TEXT,       [GR_CLASS_LIST] = KIND_NONE,
    };

    return kinds[gr_dtype_class(dtype)];
}

/* The column of a side of a comparison, perhaps converted to a wider number. */
static const struct gr_expr *
column_of(const struct gr_expr *expr)
{
    if (expr->kind == GR_EXPR_CALL && expr->op == GR_OP_CONVERT && kind_of(expr->operands[0]->dtype) == KIND_INTEGER &&
        expr->operands[0]->dtype != GRANARY_DATE &&
        (kind_of(expr->dtype) == KIND_REAL || expr->dtype == GRANARY_INT64)) {
        expr = expr->operands[0];
    }
    return expr->kind == GR_EXPR_COLUMN ? expr : NULL;
}

/* -1, 0, 1: the bound beside the literal. false: they cannot be compared, or not exactly. */
static bool
compare(const union gr_bound *bound, enum kind of, const struct gr_expr *literal, int *ret_order)
{
    double real = literal->value.d;
    double mine = bound->real;
    char text[8] = {0};

    switch (kind_of(literal->dtype)) {
    case KIND_INTEGER:
        *ret_order = bound->integer < literal->value.i ? -1 : bound->integer > literal->value.i;
        return of == KIND_INTEGER;
    case KIND_DECIMAL:
        real = (double)literal->value.i;
        *ret_order = mine < real ? -1 : mine > real;
        return of == KIND_DECIMAL && literal->value.i < EXACT_MOST && literal->value.i > -EXACT_MOST;
    case KIND_REAL:
        if (real != real) {
            return false;
        }
        *ret_order = of == KIND_INTEGER ? gr_order_mixed(bound->integer, real) : mine < real ? -1 : mine > real;
        return of == KIND_REAL || of == KIND_INTEGER;
    case KIND_TEXT:
        memcpy(text, literal->text, literal->text_size < sizeof text ? literal->text_size : sizeof text);
        *ret_order = memcmp(bound->text, text, sizeof text);
        return of == KIND_TEXT;
    default:
        return false;
    }
}

/* Whether no value of the column is <, <=, ... than the literal. */
static bool
excludes_literal(enum gr_expr_op op, const Granary__ColumnInfo *info, const struct gr_expr *literal)
{
    enum kind of = kind_of((granary_dtype)info->dtype);
    union gr_bound min;
    union gr_bound max;
    int least;
    int most;

    memcpy(&min, &info->min, sizeof min);
    memcpy(&max, &info->max, sizeof max);
    if (literal->is_null) {
        return true;
    }
    if (!info->zone || info->nan || gr_dtype_scale((granary_dtype)info->dtype) != gr_dtype_scale(literal->dtype) ||
        !compare(&min, of, literal, &least) || !compare(&max, of, literal, &most)) {
        return false;
    }
    switch (op) {
    case GR_OP_EQUAL:
        return least > 0 || most < 0;
    case GR_OP_LESS:
        return of != KIND_TEXT && least >= 0;
    case GR_OP_LESS_EQUAL:
        return of != KIND_TEXT && least > 0;
    case GR_OP_GREATER:
        return of != KIND_TEXT && most <= 0;
    case GR_OP_GREATER_EQUAL:
        return of != KIND_TEXT && most < 0;
    default:
        return false;
    }
}

static bool
is_comparison(enum gr_expr_op op)
{
    return op == GR_OP_EQUAL || op == GR_OP_LESS || op == GR_OP_LESS_EQUAL || op == GR_OP_GREATER ||
           op == GR_OP_GREATER_EQUAL;
}

static bool
part_excludes(const struct gr_expr *part, const Granary__FrameInfo *info)
{
    bool swapped = part->kind == GR_EXPR_CALL && part->operand_count == 2 && column_of(part->operands[0]) == NULL;
    const struct gr_expr *column =
        part->kind == GR_EXPR_CALL && part->operand_count > 0 ? column_of(part->operands[swapped]) : NULL;
    const Granary__ColumnInfo *of;

    if (column == NULL || column->column_index < 0 || (size_t)column->column_index >= info->n_columns) {
        return false;
    }
    of = info->columns[column->column_index];
    if (part->op == GR_OP_IS_NULL) {
        return of->nulls == 0;
    }
    if (part->op == GR_OP_IS_NOT_NULL) {
        return of->nulls == info->rows;
    }
    if (is_comparison(gr_expr_op_plain(part->op))) { /* a column with nans has no zone here */
        const struct gr_expr *literal = part->operands[!swapped];

        return literal->kind == GR_EXPR_LITERAL &&
               (of->nulls == info->rows ||
                excludes_literal(gr_expr_op_plain(swapped ? gr_expr_op_mirrored(part->op) : part->op), of, literal));
    }
    if (part->op == GR_OP_IN && !swapped) {
        size_t i = 1;

        while (i < part->operand_count && part->operands[i]->kind == GR_EXPR_LITERAL &&
               excludes_literal(GR_OP_EQUAL, of, part->operands[i])) {
            i++;
        }
        return i == part->operand_count;
    }
    return false;
}

bool
zone_test_excludes(const struct zone_test *test, const Granary__FrameInfo *info)
{
    for (size_t i = 0; i < test->count; i++) {
        if (part_excludes(test->parts[i], info)) {
            return true;
        }
    }
    return false;
}
