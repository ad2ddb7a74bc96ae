/* USING and NATURAL: columns of both sides of a join that have a name become one. */
#include <string.h>
#include <strings.h>

#include "sql/block.h"

/* The column of that name among some, in letters of any case where none has just these. false: there are several. */
static bool
find_side(const struct sql_block *block, size_t begin, size_t end, const char *name, struct sql_column **ret_column)
{
    size_t exact = 0;
    size_t alike = 0;

    *ret_column = NULL;
    for (size_t c = begin; c < end; c++) {
        struct sql_column *column = block->columns[c];
        bool is_exact = strcmp(column->name, name) == 0;

        if (!column->hidden && strcasecmp(column->name, name) == 0) {
            *ret_column = is_exact || exact == 0 ? column : *ret_column;
            exact += is_exact;
            alike++;
        }
    }
    return exact == 1 || (exact == 0 && alike <= 1);
}

/* The columns that USING names, of both sides. */
static bool
find_sides(struct sql_block *block, const struct sql_from *from, size_t left_begin, size_t right_begin,
           const char *name, struct sql_column *sides[2])
{
    if (!find_side(block, left_begin, right_begin, name, &sides[0]) ||
        !find_side(block, right_begin, block->column_count, name, &sides[1])) {
        return sql_fail(block->q, GRANARY_EINVAL, from->position, "USING: more than one column is called '%s'", name);
    }
    if (sides[0] == NULL || sides[1] == NULL) {
        return sql_fail(block->q, GRANARY_ENOENT, from->position, "USING: there is no column '%s' on the %s side", name,
                        sides[0] == NULL ? "left" : "right");
    }
    return true;
}

/* The joined columns come first, as the standard has it, in a place of their own: with the values of the side whose
 * rows are all kept. What a full join makes of both is set by merge_columns(). */
static bool
put_joined(struct sql_block *block, size_t at, struct sql_column *sides[2], int kept)
{
    const struct sql_column *column = sides[kept];
    struct sql_column *joined;

    sides[0]->hidden = true; /* they are reached by their tables' names */
    sides[1]->hidden = true;
    if (!sql_add_column(block, NULL, column->name, column->frame, column->item)) {
        return false;
    }
    joined = block->columns[block->column_count - 1];
    memmove(&block->columns[at + 1], &block->columns[at], (block->column_count - 1 - at) * sizeof(struct sql_column *));
    block->columns[at] = joined;
    return true;
}

static bool
add_using(struct sql_block *block, const struct sql_from *from, size_t left_begin, size_t right_begin,
          const char *const *names, size_t count)
{
    struct sql_statement *q = block->q;

    for (size_t i = 0; i < count; i++) {
        struct sql_column *sides[2];
        struct sql_expr *equal = SQL_NEW(q, struct sql_expr);

        size_t put = sql_is_semi(from) ? 0 : i; /* columns before those of the left side */

        if (!find_sides(block, from, left_begin + put, right_begin + put, names[i], sides)) {
            return false;
        }
        if (equal == NULL || (equal->args = SQL_ARRAY(q, struct sql_expr *, 2)) == NULL) {
            return false;
        }
        *equal = (struct sql_expr){
            .kind = SQL_INFIX, .text = "=", .position = from->position, .args = equal->args, .count = 2};
        for (int side = 0; side < 2; side++) {
            struct sql_expr *column = SQL_NEW(q, struct sql_expr);

            if (column == NULL) {
                return false;
            }
            *column = (struct sql_expr){
                .kind = SQL_COLUMN, .text = names[i], .position = from->position, .column = sides[side]};
            equal->args[side] = column;
        }
        if ((!sql_is_semi(from) && !put_joined(block, left_begin + put, sides, from->join == SQL_RIGHT)) ||
            !sql_add_conjunct(block, equal)) {
            return false;
        }
    }
    return true;
}

bool
sql_join_using(struct sql_block *block, const struct sql_from *from, size_t left_begin, size_t right_begin)
{
    const char **names = SQL_ARRAY(block->q, const char *, block->column_count);
    size_t count = 0;

    if (!from->natural) {
        return add_using(block, from, left_begin, right_begin, from->using, from->using_count);
    }

    for (size_t r = right_begin; r < block->column_count && names != NULL; r++) {
        for (size_t l = left_begin; l < right_begin; l++) {
            if (strcasecmp(block->columns[l]->name, block->columns[r]->name) == 0 && !block->columns[l]->hidden &&
                !block->columns[r]->hidden) {
                names[count++] = block->columns[r]->name;
                break;
            }
        }
    }
    return names != NULL && add_using(block, from, left_begin, right_begin, names, count);
}
