/*
 * DESCRIBE and SUMMARIZE as tables of FROM. The types of the columns are asked for (question.h). The SELECT that tells of
 * them is then written (about.h), and parsed beside the statement. It names the query that it is about as one of WITH.
 */
#include "base/error.h"
#include "sql/about.h"
#include "sql/block.h"
#include "sql/parse/parse.h"
#include "sql/question.h"

#define SOURCE "granary source"
/* PIVOT counts its questions from 0. */
#define PLACE ((size_t)-1)

const char *const *
sql_about_names(const struct sql_from *from, size_t *ret_count)
{
    static const char *const names[] = {"column_name", "column_type", "min", "max", "approx_unique", "avg",
                                        "std",         "q25",         "q50", "q75", "count",         "null_percentage"};

    *ret_count = from->about == SQL_ABOUT_COLUMNS ? 2 : sizeof names / sizeof names[0];
    return names;
}

/* The query stands first in WITH. */
static bool
put_source(struct sql_statement *q, const struct sql_from *from, struct sql_select *select)
{
    struct sql_with *with = SQL_ARRAY(q, struct sql_with, select->with_count + 1);

    if (with == NULL) {
        return false;
    }
    with[0] = (struct sql_with){.name = SOURCE, .select = from->select, .position = from->position};
    for (size_t i = 0; i < select->with_count; i++) {
        with[i + 1] = select->with[i];
    }
    select->with = with;
    select->with_count++;
    return true;
}

static struct sql_select *
write_about(struct sql_statement *q, const struct sql_from *from, const granary_frame *columns)
{
    struct gr_buf text = {0};
    struct sql_select *select = NULL;
    granary_err err = sql_about_columns(columns, from->about == SQL_ABOUT_COLUMNS ? NULL : "\"" SOURCE "\"", &text);

    if (err != GRANARY_OK) {
        (void)sql_fail(q, err, from->position, "%s", granary_error_message());
    } else if (gr_buf_ok(&text)) {
        select =
            sql_parse_inner(q, text.bytes, from->about == SQL_ABOUT_COLUMNS ? "DESCRIBE" : "SUMMARIZE", from->position);
    } else {
        (void)sql_fail(q, GRANARY_ENOMEM, from->position, "out of memory");
    }
    gr_buf_free(&text);
    return select != NULL && put_source(q, from, select) ? select : NULL;
}

bool
sql_add_about(struct sql_block *block, const struct sql_from *from)
{
    struct sql_statement *q = block->q;
    const struct sql_answer what = {.position = from->position, .place = PLACE};
    const struct sql_answer *answer = sql_find_answer(q, what.position, what.place);
    const struct sql_select *select;
    struct sql_result result;

    if (answer == NULL) {
        return sql_plan(q, from->select, false, &result) && sql_ask_columns(q, &result, &what, from->position);
    }
    select = write_about(q, from, answer->columns);
    return select != NULL && sql_plan(q, select, true, &result) && sql_add_result(block, from, from->alias, &result);
}
