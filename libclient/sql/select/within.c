/*
 * See within.h. A row is known by its rank in the partition, and its frame by the list of the ranks in it. Where the row stands
 * among these, sorted, is all that the functions need.
 */
#include "sql/select/within.h"

#include <string.h>

/* How many of a list are less than a value, plus 1; with `down` more. */
static const char *
standing(struct sql_statement *q, const char *list, const char *value, bool down)
{
    return sql_printf(q, "list_position(%s(list_concat(%s, list_value(%s))), %s)",
                      down ? "list_reverse_sort" : "list_sort", list, value, value);
}

/* The value of the row that has that place among those of the frame. */
static const char *
valued(struct sql_statement *q, const struct sql_within *within, const char *place)
{
    return place == NULL ? NULL
                         : sql_printf(q, "list_extract(%s, list_position(%s, list_extract(list_sort(%s), %s)))",
                                      within->value, within->places, within->places, place);
}

static const char *
shifted(struct sql_statement *q, const struct sql_within *within, long long n)
{
    const char *at = standing(q, within->places, within->place, false);
    const char *found = at == NULL ? NULL : valued(q, within, sql_printf(q, "(%s + %lld)", at, n));

    return found == NULL
               ? NULL
               : sql_printf(q, "case when %s + %lld < 1 or %s + %lld > list_length(%s) then %s else %s end", at, n, at,
                            n, within->places, within->other == NULL ? "null" : within->other, found);
}

/* As SQL has it: the first parts have a row more. */
static const char *
tiled(struct sql_statement *q, const struct sql_within *within)
{
    const char *at = standing(q, within->places, within->place, false);
    const char *rows = sql_printf(q, "list_length(%s)", within->places);
    const char *size = rows == NULL ? NULL : sql_printf(q, "(%s // %lld)", rows, within->n);
    const char *larger =
        size == NULL ? NULL : sql_printf(q, "((%s - %s * %lld) * (%s + 1))", rows, size, within->n, size);

    return at == NULL || larger == NULL
               ? NULL
               : sql_printf(
                     q,
                     "case when %s <= %s then (%s - 1) // (%s + 1) + 1 else (%s - %s * %lld) + (%s - 1 - %s) // %s + 1 "
                     "end",
                     at, larger, at, size, rows, size, within->n, at, larger, size);
}

const char *
sql_within_text(struct sql_statement *q, const char *function, const struct sql_within *within)
{
    const char *before = standing(q, within->ranks, within->rank, false);
    const char *behind = standing(q, within->ranks, within->rank, true);
    const char *rows = sql_printf(q, "coalesce(list_length(%s), 0)", within->ranks);

    if (before == NULL || behind == NULL || rows == NULL) {
        return NULL;
    }
    if (strcmp(function, "rank") == 0) {
        return before;
    }
    if (strcmp(function, "row_number") == 0) {
        return standing(q, within->places, within->place, false);
    }
    if (strcmp(function, "percent_rank") == 0) {
        return sql_printf(q, "case when %s > 1 then (%s - 1) / (%s - 1) else 0.0 end", rows, before, rows);
    }
    if (strcmp(function, "cume_dist") == 0) {
        return sql_printf(q, "case when %s > 0 then (%s + 1 - %s) / %s else 0.0 end", rows, rows, behind, rows);
    }
    if (strcmp(function, "ntile") == 0) {
        return tiled(q, within);
    }
    if (strcmp(function, "lag") == 0 || strcmp(function, "lead") == 0) {
        return shifted(q, within, function[1] == 'a' ? -within->n : within->n);
    }
    if (strcmp(function, "first_value") == 0 || strcmp(function, "nth_value") == 0) {
        return valued(q, within, sql_printf(q, "%lld", within->n));
    }
    return strcmp(function, "last_value") == 0 ? valued(q, within, "-1") : NULL;
}
