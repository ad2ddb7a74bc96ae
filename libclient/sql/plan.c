/* A query as a whole: what WITH names in it, and whether it is a SELECT or a set operation. */
#include <stdlib.h>
#include <strings.h>

#include "sql/block.h"

struct sql_with *
sql_find_with(const struct sql_statement *q, const char *name)
{
    for (const struct sql_names *names = q->names; names != NULL; names = names->outer) {
        for (size_t i = 0; i < names->count; i++) {
            if (strcasecmp(names->with[i].name, name) == 0) {
                return &names->with[i];
            }
        }
    }
    return NULL;
}

struct sql_names
sql_names_before(const struct sql_statement *q, const struct sql_with *with)
{
    const struct sql_names *names = q->names;

    while (names->with == NULL || with < names->with || with >= names->with + names->count) { /* where it stands */
        names = names->outer;
    }
    return (struct sql_names){names->with, (size_t)(with - names->with) + with->recursive, names->outer};
}

const struct sql_result *
sql_with_result(struct sql_statement *q, struct sql_with *with)
{
    struct sql_names visible;
    struct sql_result *result;
    bool ok;

    if (with->result != NULL) {
        return with->result;
    }
    result = SQL_NEW(q, struct sql_result);
    if (result == NULL) {
        return NULL;
    }
    visible = sql_names_before(q, with);
    {
        const struct sql_names *now = q->names;

        q->names = &visible;
        ok = with->recursive ? sql_plan_recursive(q, with, NULL, result) : sql_plan(q, with->select, true, result);
        q->names = now;
    }
    if (!ok) {
        return NULL;
    }
    if (with->column_count > result->count) {
        (void)sql_fail(q, GRANARY_EINVAL, with->position, "'%s' has %zu columns, but %zu names are given", with->name,
                       result->count, with->column_count);
        return NULL;
    }
    for (size_t i = 0; i < with->column_count; i++) {
        result->outputs[i].name = with->columns[i];
    }
    with->result = result;
    return result;
}

static bool
plan(struct sql_statement *q, const struct sql_select *select, const struct sql_around *around, bool ordered,
     struct sql_result *ret_result)
{
    const struct sql_names names = {select->with, select->with_count, q->names};
    const struct sql_names *before = q->names;
    struct sql_block *block;
    bool ok;

    if (++q->depth > SQL_NESTING) {
        return sql_fail(q, GRANARY_EINVAL, select->position, "queries nest more than %d deep", SQL_NESTING);
    }
    for (size_t i = 0; i < select->with_count; i++) {
        select->with[i].around = around;
    }
    q->names = &names;
    if (select->set != SQL_NO_SET) {
        ok = sql_plan_set(q, select, around, ordered, ret_result);
    } else {
        block = SQL_NEW(q, struct sql_block);
        if (block != NULL) {
            *block = (struct sql_block){
                .q = q, .select = select, .outer = around == NULL ? NULL : around->block, .around = around};
        }
        ok = block != NULL && sql_block_begin(block) && sql_block_finish(block, ordered, ret_result);
    }
    q->names = before;
    q->depth--;
    return ok;
}

bool
sql_plan(struct sql_statement *q, const struct sql_select *select, bool ordered, struct sql_result *ret_result)
{
    return plan(q, select, NULL, ordered, ret_result);
}

bool
sql_plan_for(struct sql_statement *q, const struct sql_select *select, const struct sql_around *around,
             struct sql_result *ret_result)
{
    return plan(q, select, around, false, ret_result);
}
