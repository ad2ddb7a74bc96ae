/* ORDER BY, DISTINCT ON, LIMIT and OFFSET: of all rows, or for each row of the query around; by numbers, percentages, subqueries. */
#include "sql/block.h"

/* LIMIT in percent, and WITH TIES: by the number of each row, how many there are, and its rank. */
static bool
cut_by_number(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select,
              const struct sql_window_spec *order)
{
    const struct sql_window_spec all = {.position = select->position};
    const char *number = sql_fresh(q, "row");
    const char *bound = sql_fresh(q, "bound");
    const char *where = NULL;

    if (number == NULL || bound == NULL || !sql_rel_window(q, rel, number, "row_number()", &all) ||
        !sql_rel_window(q, rel, bound, select->ties > 0 ? "rank()" : "size()", select->ties > 0 ? order : &all)) {
        return false;
    }
    if (select->ties > 0) {
        where = sql_printf(
            q, "`%s` > %lld and `%s` <= %lld", number, (long long)select->offset, bound,
            (long long)(select->ties > INT64_MAX - select->offset ? INT64_MAX : select->offset + select->ties));
    } else { /* rows that are left count behind OFFSET */
        where = sql_printf(q, "`%s` > %lld and `%s` <= %lld + floor(`%s` * %.17g / 100e0)", number,
                           (long long)select->offset, number, (long long)select->offset, bound, *select->percent);
    }
    return where != NULL && sql_rel_filter(q, rel, where, select->position);
}

/* The first row of each of DISTINCT ON, for each row of the query around. */
static bool
cut_to_first(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select,
             const struct sql_window_spec *spec)
{
    struct sql_window_spec each = *spec;
    const char **partition = SQL_ARRAY(q, const char *, 1 + select->distinct_on);
    const char *row = sql_fresh(q, "row");

    if (partition == NULL || row == NULL) {
        return false;
    }
    partition[0] = spec->partition[0];
    for (size_t i = 0; i < select->distinct_on; i++) {
        partition[1 + i] = spec->by[select->order_count - select->distinct_on + i];
    }
    each.partition = partition;
    each.partition_count = sql_without_twins(partition, 1 + select->distinct_on);
    return sql_rel_window(q, rel, row, "row_number()", &each) &&
           sql_rel_filter(q, rel, sql_printf(q, "`%s` = 1", row), select->position);
}

/* LIMIT and OFFSET for each row of the query around. */
static bool
cut_each(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select,
         const struct sql_window_spec *spec)
{
    int64_t most = select->limit > INT64_MAX - select->offset ? INT64_MAX : select->offset + select->limit;
    const char *row;

    if (select->distinct_on > 0 && !cut_to_first(q, rel, select, spec)) {
        return false;
    }
    if (select->limit < 0 && select->offset == 0) {
        return true;
    }
    row = sql_fresh(q, "row");
    return row != NULL && sql_rel_window(q, rel, row, "row_number()", spec) &&
           sql_rel_filter(q, rel,
                          select->limit < 0 ? sql_printf(q, "`%s` > %lld", row, (long long)select->offset)
                                            : sql_printf(q, "`%s` > %lld and `%s` <= %lld", row,
                                                         (long long)select->offset, row, (long long)most),
                          select->position);
}

/* LIMIT or OFFSET that a subquery gives, as an expression of the rows beside which it stands; a number as written is one,
 * too. */
static const char *
cut_value(struct sql_block *block, struct sql_expr *value, int64_t written)
{
    if (value == NULL) {
        return sql_printf(block->q, "%lld", (long long)written);
    }
    return sql_bind(block, value) && sql_join_subqueries(block, value) ? sql_text(block, value) : NULL;
}

/* LIMIT in percent as a number of rows, of which there are so many. */
static const char *
percent_of(struct sql_block *block, const char *size)
{
    const struct sql_select *select = block->select;
    struct sql_statement *q = block->q;
    const char *percent = select->limit_value == NULL ? sql_printf(q, "%.17g", *select->percent)
                                                      : cut_value(block, select->limit_value, 0);

    return percent == NULL
               ? NULL
               : sql_printf(
                     q,
                     "case when %s >= 0e0 and %s <= 100e0 then cast(floor(`%s` * (%s) / 100e0) as int64) when %s = %s "
                     "then cast(error('LIMIT takes 0 to 100 percent') as int64) else null end",
                     percent, percent, size, percent, percent, percent);
}

/* Where rows are cut of which the number is not known yet. A null cuts nothing, and what is below 0 counts as 0. The
 * condition is of the rows' number, which gets its column later. */
static const char *
join_cut(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select, const char *row)
{
    struct sql_block block = {.q = q, .select = select, .rel = *rel};
    const char *size = select->percent == NULL ? NULL : sql_fresh(q, "rows");
    const char *offset;
    const char *limit;

    if (size != NULL &&
        !sql_rel_window(q, &block.rel, size, "size()", &(struct sql_window_spec){.position = select->position})) {
        return NULL;
    }
    offset = cut_value(&block, select->offset_value, select->offset);
    limit = offset == NULL ? NULL
            : size != NULL ? percent_of(&block, size)
                           : cut_value(&block, select->limit_value, select->limit);

    *rel = block.rel;
    return limit == NULL || row == NULL
               ? NULL
               : sql_printf(q, "`%s` > coalesce(%s, 0) and `%s` - greatest(coalesce(%s, 0), 0) <= coalesce(%s, `%s`)",
                            row, offset, row, offset, limit, row);
}

/* In order, and of DISTINCT ON's rows the first. */
static bool
sort_rows(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select,
          const struct sql_window_spec *order, int position)
{
    return (order->by_count == 0 ||
            sql_rel_sort(q, rel, order->by, order->descending, order->nulls, order->by_count, position)) &&
           (select->distinct_on == 0 || sql_rel_first(q, rel, order->by + select->order_count - select->distinct_on,
                                                      select->distinct_on, select->position));
}

/* The rows of which a condition on their number is true. */
static bool
cut_where(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select, const char *row,
          const char *where)
{
    return sql_rel_window(q, rel, row, "row_number()", &(struct sql_window_spec){.position = select->position}) &&
           sql_rel_filter(q, rel, where, select->position);
}

bool
sql_sort_and_cut(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select,
                 const struct sql_order *order, const char *const *columns, bool ordered, const char *number)
{
    size_t count = select->order_count;
    const char **by = SQL_ARRAY(q, const char *, count);
    bool *descending = SQL_ARRAY(q, bool, count);
    const char **nulls = SQL_ARRAY(q, const char *, count);
    struct sql_window_spec spec = {.position = select->position};
    bool values = select->limit_value != NULL || select->offset_value != NULL;
    const char *row = NULL;
    const char *where = NULL;
    bool cuts;

    if (by == NULL || descending == NULL || nulls == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        by[i] = columns[i];
        descending[i] = order[i].descending;
        nulls[i] = order[i].nulls_first ? "first" : "last";
    }
    spec.by = by;
    spec.descending = descending;
    spec.nulls = nulls;
    spec.by_count = count;
    if (number != NULL && (select->ties > 0 || select->percent != NULL || values)) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, select->position,
                        "WITH TIES and LIMIT of a percentage or of a subquery in a subquery that names columns of the "
                        "query around are not supported: put the condition on a window function");
    }
    if (number != NULL) {
        spec.partition = &number;
        spec.partition_count = 1;
        return cut_each(q, rel, select, &spec);
    }
    if (values) {
        row = sql_fresh(q, "row");
        where = join_cut(q, rel, select, row);
        if (where == NULL) {
            return false;
        }
    }
    cuts = values || select->limit >= 0 || select->offset > 0 || select->distinct_on > 0;
    if ((ordered || cuts) && !sort_rows(q, rel, select, &spec, count > 0 ? order[0].expr->position : -1)) {
        return false;
    }
    if (values) {
        return cut_where(q, rel, select, row, where);
    }
    if (select->ties > 0 || select->percent != NULL) {
        return cut_by_number(q, rel, select, &spec);
    }
    return (select->limit < 0 && select->offset == 0) ||
           sql_rel_head(q, rel, select->offset, select->limit, select->position);
}
