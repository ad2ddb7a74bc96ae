/* INSERT, DELETE and UPDATE. DELETE and UPDATE hold the table's lock from their look at its rows to the write. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "mutable/handles.h"
#include "mutable/read.h"
#include "sql/execute/execute.h"

/* ---- INSERT ---- */

granary_err
execute_insert(struct execution *e)
{
    granary_mutable *table = NULL;
    granary_err err = execution_tell(e, execution_open(e, &table));

    err = err == GRANARY_OK ? execution_plan_and_run(e, granary_mutable_schema(table)) : err;
    handles_give(table);
    return err == GRANARY_OK ? execution_tell(e, execution_take_appended(e, e->label)) : err;
}

/* ---- DELETE, UPDATE ---- */

/* Positions, from 1, become numbers of rows. */
static granary_err
number_rows(granary_mutable *table, int64_t time, int64_t *rows, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        rows[i]--;
    }
    return read_numbers_of(table, time, rows, (size_t)count, rows);
}

static granary_err
write_fields(struct execution *e, granary_mutable *table, const granary_rows *rows, const granary_frame *frame)
{
    granary_column *columns = SQL_ARRAY(&e->q, granary_column, e->change->field_count);

    if (columns == NULL) {
        return e->q.err;
    }
    for (size_t i = 0; i < e->change->field_count; i++) {
        columns[i] = *granary_frame_column(frame, i + 1);
        columns[i].name = e->change->fields[i].name;
    }
    return granary_mutable_write_rows(table, rows, columns, e->change->field_count, NULL, &e->done.time);
}

/* The rows that the graph has found are deleted, or written over. */
static granary_err
change_rows(struct execution *e, granary_mutable *table, int64_t time)
{
    granary_frame *frame = NULL;
    const granary_frame *plain = NULL;
    int64_t *numbers = NULL;
    granary_err err = execution_result(e, e->label, &frame, &plain);
    const int64_t count = err == GRANARY_OK ? granary_frame_rows(plain) : 0;

    e->done.rows = count;
    if (count > 0) {
        numbers = malloc((size_t)count * sizeof *numbers);
        err = numbers == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    if (numbers != NULL) {
        const granary_rows rows = {.numbers = numbers, .count = (size_t)count};

        memcpy(numbers, granary_frame_column(plain, 0)->values, (size_t)count * sizeof *numbers);
        err = number_rows(table, time, numbers, count);
        if (err == GRANARY_OK) {
            err = e->change->kind == SQL_DELETE
                      ? granary_mutable_delete_rows(table, &rows, NULL, &e->done.rows, &e->done.time)
                      : write_fields(e, table, &rows, plain);
        }
    }
    free(numbers);
    gr_frame_destroy(frame);
    return err;
}

/* All tables of the statement are read at one moment, at which the rows have their numbers. */
static granary_err
rows_locked(struct execution *e, granary_mutable *table)
{
    int64_t time = GRANARY_NOW;
    granary_err err = sql_change_plan(&e->q, e->change, granary_mutable_schema(table)) ? GRANARY_OK : e->q.err;

    err = err == GRANARY_OK ? execution_tell(e, execution_fix(e, &time)) : err;
    err = err == GRANARY_OK ? execution_run_own(e) : err;
    return err == GRANARY_OK ? execution_tell(e, change_rows(e, table, time)) : err;
}

granary_err
execute_rows(struct execution *e)
{
    granary_mutable *table = NULL;
    granary_err err = execution_open(e, &table);

    err = execution_tell(e, err == GRANARY_OK ? granary_mutable_lock(table) : err);
    if (err == GRANARY_OK) {
        err = rows_locked(e, table);
        granary_mutable_unlock(table);
    }
    handles_give(table);
    return err;
}
