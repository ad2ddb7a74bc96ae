/* What FROM names: files, stored tables, WITH queries. Only the names of their columns are needed here. */
#include "sql/block.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/error.h"
#include "base/id.h"
#include "data/file/format.h"
#include "granary/mutable.h"
#include "graph/operators/nearest.h"
#include "sql/execute/stored.h"
#include "sql/from/table.h"
#include "sql/from/view.h"
#include "sql/told.h"

#define COLUMNS_MAX 16384

bool
sql_table_add_column(struct sql_statement *q, struct sql_table *table, const char *name)
{
    if (table->columns == NULL) {
        table->columns = SQL_ARRAY(q, const char *, COLUMNS_MAX);
    }
    if (table->columns == NULL || name == NULL) {
        return false;
    }
    if (table->count == COLUMNS_MAX) {
        return sql_fail(q, GRANARY_EINVAL, -1, "%s: more than %d columns", table->name, COLUMNS_MAX);
    }
    table->columns[table->count++] = name;
    return true;
}

/* ---- stored tables ---- */

static bool
add_frame_columns(struct sql_statement *q, struct sql_table *table, const granary_frame *frame)
{
    for (size_t i = 0; i < granary_frame_columns(frame); i++) {
        if (!sql_table_add_column(q, table, sql_printf(q, "%s", granary_frame_column(frame, i)->name))) {
            return false;
        }
    }
    return true;
}

static granary_err
read_columns(struct sql_statement *q, granary_id id, struct sql_table *table)
{
    granary_frame *frame = NULL;
    granary_view view;
    granary_err err = granary_object_get(q->client, id, 0, &view); /* whoever waits for what is gone waits for ever */

    if (err == GRANARY_OK) {
        err = granary_frame_open(&view, &frame);
        if (err == GRANARY_OK) {
            (void)add_frame_columns(q, table, frame);
        }
        granary_frame_close(frame);
        granary_object_release(q->client, &view);
    }
    return err;
}

/* A table may be replaced while it is looked at: then the new one is. */
static granary_err
read_stored_schema(struct sql_statement *q, const struct sql_stored *stored, struct sql_table *table)
{
    granary_id seen = stored->first;
    granary_err err = gr_id_is_zero(seen) ? gr_fail(GRANARY_ESTATE, "it has no chunks") : read_columns(q, seen, table);

    table->rows = stored->rows;
    while (err == GRANARY_ENOENT) {
        granary_result result = {0};
        granary_err found = granary_graph_result(q->client, stored->key, stored->target, &result);

        if (found != GRANARY_OK || result.chunk_count == 0 || gr_id_equal(result.chunks[0], seen)) {
            granary_result_free(&result);
            return gr_fail(GRANARY_ESTATE, "its rows are not in the store any more: load it again with --replace");
        }
        seen = result.chunks[0];
        table->rows = 0;
        for (size_t i = 0; i < result.chunk_count; i++) {
            table->rows += (double)(result.chunk_rows[i] > 0 ? result.chunk_rows[i] : 0);
        }
        granary_result_free(&result);
        err = read_columns(q, seen, table);
    }
    return err;
}

/* A file of that name in the working directory, the last format first: NAME.arrow before NAME.csv; NULL: there is none. */
static const char *
file_of_name(struct sql_statement *q, const char *name)
{
    size_t i = 0;

    while (gr_formats[i] != NULL) {
        i++;
    }
    while (i-- > 0) {
        const char *file = sql_printf(q, "%s.%s", name, gr_formats[i]->name);

        if (gr_formats[i]->sketch != NULL && (file == NULL || access(file, F_OK) == 0)) {
            return file;
        }
    }
    return NULL;
}

/* What could have been meant: a file, or one of the keys there are. */
static bool
no_table(struct sql_statement *q, const struct sql_from *from)
{
    struct gr_nearest nearest = {.name = from->name};
    granary_query query = {.subject = "graphs"};
    granary_table *table = NULL;
    const char *file = file_of_name(q, from->name);
    char hint[GR_HINT_MAX];

    if (access(from->name, F_OK) == 0 && (strchr(from->name, '.') != NULL || sql_is_folder(from->name))) {
        return sql_no_format(q, from);
    }
    if (file != NULL) {
        return sql_fail(q, GRANARY_ENOENT, from->position,
                        "no table '%s': there is a file '%s', write its name with the ending", from->name, file);
    }
    if (q->client != NULL && granary_info(q->client, &query, &table) == GRANARY_OK) {
        for (size_t i = 0; i < granary_table_rows(table); i++) {
            gr_nearest_offer(&nearest, granary_table_text(table, i, "key"));
        }
    }
    (void)gr_nearest_hint(&nearest, hint);
    granary_table_free(table);
    return sql_fail(
        q, GRANARY_ENOENT, from->position,
        "no table '%s'%s: name a file ('trips.csv') or a folder ('trips/'), or load it with `granary load %s FILE`",
        from->name, hint, from->name);
}

/* Where there are no tables a name is that of a file. */
static bool
open_named_file(struct sql_statement *q, const struct sql_from *from, struct sql_table *table)
{
    struct sql_from file = *from;

    file.name = file_of_name(q, from->name);
    if (file.name == NULL) {
        return no_table(q, from);
    }
    return sql_open_file(q, &file, NULL, NULL, table);
}

/* What the scheduler found odd about a table's files. */
static void
tell_notes(struct sql_statement *q, const char *key)
{
    static const char *const fields[] = {"message"};
    const granary_query query = {.subject = "graphs", .keys = &key, .key_count = 1, .fields = fields, .field_count = 1};
    granary_table *table = NULL;

    if (granary_info(q->client, &query, &table) == GRANARY_OK && granary_table_rows(table) > 0) {
        gr_buf_addf(&q->telling->notes, "%s\n", granary_table_text(table, 0, "message"));
    }
    granary_table_free(table);
}

/* A mutable or sealed table. Errors: ENOENT there is none of that name */
static granary_err
open_mutable(struct sql_statement *q, const struct sql_from *from, struct sql_table *table)
{
    granary_mutable *opened = NULL;
    granary_mutable_info info;
    granary_err err = granary_table_open(q->client, from->name, &opened);

    if (err == GRANARY_OK && granary_mutable_schema(opened) == NULL) {
        err = gr_fail(GRANARY_ESTATE, "'%s' is a tensor, which has no rows", from->name);
    }
    if (err == GRANARY_OK && add_frame_columns(q, table, granary_mutable_schema(opened))) {
        table->rows = granary_mutable_describe(q->client, from->name, &info) == GRANARY_OK ? (double)info.rows : 0;
        table->node = sql_node(q, "table", from->position, NULL, 0);
        granary_node_set_string(q->graph, table->node, "name", from->name);
        if (from->has_time) {
            granary_node_set_int(q->graph, table->node, "time", from->time);
        }
    }
    granary_mutable_close(opened);
    return err == GRANARY_ETYPE ? GRANARY_ENOENT : err; /* the name is of an object that is none */
}

/* A target of a graph has a name behind its slash. */
static bool
ends_as_folder(const char *name)
{
    return name[0] != '\0' && name[strlen(name) - 1] == '/';
}

static bool
open_stored(struct sql_statement *q, const struct sql_from *from, struct sql_table *table)
{
    const struct sql_stored *stored = NULL;
    bool may_be_stored = q->client != NULL && from->name[0] != '/';
    granary_err err =
        may_be_stored && strlen(from->name) <= GRANARY_TEXT_MAX ? open_mutable(q, from, table) : GRANARY_ENOENT;

    if (err != GRANARY_ENOENT) {
        return err == GRANARY_OK ? q->err == GRANARY_OK
                                 : sql_fail(q, err, from->position, "%s", granary_error_message());
    }
    if (from->has_time) {
        return sql_fail(q, GRANARY_ENOENT, from->position, "there is no mutable table '%s'", from->name);
    }
    err = may_be_stored ? sql_find_stored(q, from->name, &stored) : GRANARY_ENOENT;

    if (err == GRANARY_ENOENT && strchr(from->name, '/') == NULL) {
        table->view = q->client == NULL ? NULL : sql_open_view(q, from);
        return table->view != NULL    ? true
               : q->err != GRANARY_OK ? false
               : q->client == NULL    ? open_named_file(q, from, table)
                                      : no_table(q, from);
    }
    if (err == GRANARY_ENOENT &&
        (q->client == NULL || from->name[0] == '/' || ends_as_folder(from->name) || access(from->name, F_OK) == 0)) {
        return sql_no_format(q, from);
    }
    if (err == GRANARY_OK) {
        err = read_stored_schema(q, stored, table);
    }
    if (err != GRANARY_OK) {
        return sql_fail(q, err, from->position, "table '%s': %s", from->name, granary_error_message());
    }
    if (q->telling != NULL) {
        tell_notes(q, stored->key);
    }
    table->node = sql_node(q, "table", from->position, NULL, 0);
    granary_node_set_string(q->graph, table->node, "name", sql_printf(q, "%s/%s", stored->key, stored->target));
    return q->err == GRANARY_OK;
}

/* ---- use ---- */

/* A folder of which a condition leaves out files is another table each time. */
static struct sql_table *
find_table(struct sql_statement *q, const struct sql_from *from, const char *alias, struct sql_expr *where)
{
    struct sql_table *table = q->tables;
    bool ok;

    if (from->recurring) {
        (void)sql_fail(q, GRANARY_ENOENT, from->position, "recurring.%s: no WITH RECURSIVE is called '%s'", from->name,
                       from->name);
        return NULL;
    }
    while (table != NULL && (strcmp(table->name, from->name) != 0 || table->has_time != from->has_time ||
                             table->time != from->time || table->file != from->file || table->is_part)) {
        table = table->next;
    }
    if (table != NULL) {
        return table;
    }
    table = SQL_NEW(q, struct sql_table);
    if (table == NULL) {
        return NULL;
    }
    table->name = from->name;
    table->has_time = from->has_time;
    table->time = from->time;
    table->file = from->file;
    ok = (from->file != NULL || sql_is_file(from->name)) && !from->has_time
             ? sql_open_file(q, from, alias, where, table)
             : open_stored(q, from, table);
    table->next = q->tables;
    q->tables = table;
    return ok ? table : NULL;
}

/* "trips" for "dir/trips.csv" and "trips/"; a table that is no file has all of its name */
static const char *
table_alias(struct sql_statement *q, const struct sql_from *from)
{
    size_t size = strlen(from->name);
    const char *name =
        sql_printf(q, "%.*s", (int)(size > 1 && from->name[size - 1] == '/' ? size - 1 : size), from->name);
    const char *slash = name == NULL ? NULL : strrchr(name, '/');
    const char *begin = slash != NULL ? slash + 1 : name != NULL && strcmp(name, "-") == 0 ? "stdin" : name;
    bool file = slash != NULL || from->file != NULL || sql_is_file(from->name);
    const char *dot = begin == NULL || !file ? NULL : strrchr(begin, '.');

    if (begin == NULL) {
        return NULL;
    }
    return from->alias != NULL ? from->alias
                               : sql_printf(q, "%.*s", dot == NULL ? (int)strlen(begin) : (int)(dot - begin), begin);
}

/* Whether a column of a subquery in FROM is NULL as written. */
static bool
is_empty(const struct sql_from *from, size_t place)
{
    const struct sql_select *select = from->kind == SQL_FROM_SELECT ? from->select : NULL;
    bool empty = select != NULL && select->set == SQL_NO_SET && select->value_rows == 0 && place < select->target_count;

    for (size_t i = 0; empty && i <= place; i++) { /* places are those of the list */
        empty = sql_star_in(select->targets[i].expr) == NULL;
    }
    return empty && select->targets[place].expr->kind == SQL_LITERAL &&
           strcmp(select->targets[place].expr->text, "null") == 0;
}

bool
sql_add_result(struct sql_block *block, const struct sql_from *from, const char *name, const struct sql_result *result)
{
    struct sql_statement *q = block->q;
    int item = (int)block->item_count;

    if (item == SQL_ITEMS_MAX) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, from->position, "more than %d tables in one FROM", SQL_ITEMS_MAX);
    }
    if (from->column_count > result->count) {
        return sql_fail(q, GRANARY_EINVAL, from->position, "'%s' has %zu columns, but %zu names are given", name,
                        result->count, from->column_count);
    }
    block->items[block->item_count++] = result->rel;
    for (size_t i = 0; i < result->count; i++) {
        if (!sql_add_column(block, name, i < from->column_count ? from->columns[i] : result->outputs[i].name,
                            result->outputs[i].frame, item)) {
            return false;
        }
        block->columns[block->column_count - 1]->also = i == 0 ? from->function : NULL;
        block->columns[block->column_count - 1]->empty = is_empty(from, i);
    }
    return true;
}

/* Columns whose names others have get new ones. all: of a second use, whose names the first has. */
static bool
rename_columns(struct sql_statement *q, struct sql_result *result, bool all, int position)
{
    const char **names = SQL_ARRAY(q, const char *, result->count);
    const char **to = SQL_ARRAY(q, const char *, result->count);
    size_t count = 0;

    for (size_t i = 0; i < result->count && q->err == GRANARY_OK; i++) {
        struct sql_output *output = &result->outputs[i];

        if (all || !sql_take_name(q, output->frame)) {
            size_t known = 0;

            while (known < count && strcmp(names[known], output->frame) != 0) { /* two outputs can be one column */
                known++;
            }
            if (known == count) {
                names[count] = output->frame;
                to[count++] = sql_fresh(q, output->name);
            }
            output->frame = to[known];
        }
    }
    return q->err == GRANARY_OK && sql_rel_rename(q, &result->rel, names, to, count, position);
}

static bool
copy_outputs(struct sql_statement *q, struct sql_result *result, const struct sql_result *of)
{
    *result = *of;
    result->outputs = SQL_ARRAY(q, struct sql_output, of->count);
    if (result->outputs == NULL) {
        return false;
    }
    memcpy(result->outputs, of->outputs, of->count * sizeof *of->outputs);
    return true;
}

/* Only the outputs: other columns of the relation would have the names of the first use's. */
static bool
select_outputs(struct sql_statement *q, struct sql_result *result, int position)
{
    const char **names = SQL_ARRAY(q, const char *, result->count);

    for (size_t i = 0; i < result->count && names != NULL; i++) {
        names[i] = result->outputs[i].frame;
    }
    return names != NULL && sql_rel_select(q, &result->rel, names, sql_without_twins(names, result->count), position);
}

/* The columns of a result for each row of the query around, beside the rows that the block has joined. */
static bool
add_beside_around(struct sql_block *block, const struct sql_from *from, const struct sql_result *result)
{
    return sql_add_result(block, from, from->alias != NULL ? from->alias : from->name, result) &&
           sql_add_column(block, NULL, "outer", result->number, (int)block->item_count - 1) &&
           (block->columns[block->column_count - 1]->hidden = true) &&
           sql_add_equal(block, block->number, block->columns[block->column_count - 1], from->position);
}

static bool
refuse_with(struct sql_block *block, const struct sql_from *from, const struct sql_with *with)
{
    return sql_fail(block->q, GRANARY_EUNSUPPORTED, from->position,
                    "'%s' of WITH names columns of the query around, and cannot be named here: write it out as a "
                    "subquery",
                    with->name);
}

/* Whether a query between the block and the one whose columns are reached has columns of these names. */
static bool
is_hidden_between(const struct sql_block *block, const struct sql_block *around, const struct sql_reached *reached)
{
    for (; block != NULL && block != around; block = block->outer) {
        for (size_t i = 0; i < block->column_count; i++) {
            const struct sql_column *column = block->columns[i];

            for (size_t k = 0; k < reached->count && !sql_is_borrowed(block, column->frame); k++) {
                if (strcasecmp(column->name, reached->columns[k]->name) == 0) {
                    return true;
                }
            }
        }
    }
    return block == NULL;
}

/* Named in a subquery, it stands there as one, if its names mean the same there. */
static bool
add_with_inside(struct sql_block *block, const struct sql_from *from, struct sql_with *with,
                const struct sql_reached *reached, const struct sql_names *visible)
{
    struct sql_statement *q = block->q;
    const struct sql_names *now = q->names;
    struct sql_from inside = {.kind = SQL_FROM_SELECT,
                              .position = from->position,
                              .alias = from->alias != NULL ? from->alias : from->name,
                              .select = with->select};
    bool ok;

    if (with->recursive || is_hidden_between(block, with->around->block, reached)) {
        return refuse_with(block, from, with);
    }
    inside.column_count = from->column_count > with->column_count ? from->column_count : with->column_count;
    inside.columns = SQL_ARRAY(q, const char *, inside.column_count);
    for (size_t i = 0; i < inside.column_count && inside.columns != NULL; i++) {
        inside.columns[i] = i < from->column_count ? from->columns[i] : with->columns[i];
    }
    q->names = visible;
    ok = inside.columns != NULL && sql_add_select(block, &inside);
    q->names = now;
    return ok;
}

/* One that names columns of the query around the one that it stands before: it is translated for each row of that. */
static bool
add_with_around(struct sql_block *block, const struct sql_from *from, struct sql_with *with,
                const struct sql_reached *reached)
{
    struct sql_statement *q = block->q;
    const struct sql_names *now = q->names;
    struct sql_names visible = sql_names_before(q, with);
    struct sql_result result;
    bool ok;

    if (block->around != with->around) {
        return add_with_inside(block, from, with, reached, &visible);
    }
    q->names = &visible;
    ok = with->recursive ? sql_plan_recursive(q, with, with->around, &result)
                         : sql_plan_for(q, with->select, with->around, &result);
    q->names = now;
    for (size_t i = 0; ok && i < with->column_count && i < result.count; i++) {
        result.outputs[i].name = with->columns[i];
    }
    return ok && add_beside_around(block, from, &result);
}

static bool
add_with(struct sql_block *block, const struct sql_from *from, struct sql_with *with)
{
    const struct sql_result *shared;
    bool again = with->used;
    struct sql_result result;
    struct sql_reached reached = {.count = 0};

    if (!sql_check_recursive(block->q, with, from->position)) {
        return false;
    }
    if (from->recurring && with->recurring == NULL) {
        return sql_fail(block->q, GRANARY_EINVAL, from->position,
                        "recurring.%s is all rows so far, in the second query of WITH RECURSIVE %s alone", from->name,
                        from->name);
    }
    if (with->around != NULL && with->result == NULL && with->state == SQL_WITH_QUERY &&
        !sql_reach_out(with->around->block, with->select, &reached)) {
        return false;
    }
    if (reached.count > 0) {
        return add_with_around(block, from, with, &reached);
    }
    shared = from->recurring ? with->recurring : sql_with_result(block->q, with);
    with->used = true;
    if (shared == NULL || !copy_outputs(block->q, &result, shared) ||
        (again && (!select_outputs(block->q, &result, from->position) ||
                   !rename_columns(block->q, &result, true, from->position)))) {
        return false;
    }
    if (shared->number == NULL) {
        return sql_add_result(block, from, from->alias != NULL ? from->alias : from->name, &result);
    }
    if (block->around != with->around) { /* rows of a round, for each row of the query around */
        return refuse_with(block, from, with);
    }
    result.number = result.outputs[--result.count].frame; /* the last one */
    return add_beside_around(block, from, &result);
}

bool
sql_table_columns(struct sql_statement *q, struct sql_from *from, struct sql_expr *where, const char *const **ret_names,
                  size_t *ret_count, const char **ret_alias, struct sql_with **ret_with)
{
    const char *alias = table_alias(q, from);
    const struct sql_table *table = from->looked_at;

    if (alias != NULL && table == NULL) {
        table = find_table(q, from, alias, from->column_count > 0 ? NULL : where);
    }
    if (table == NULL) {
        return false;
    }
    *ret_with = table->view;
    from->looked_at = table;
    *ret_names = table->columns;
    *ret_count = table->count;
    *ret_alias = alias;
    return true;
}

bool
sql_add_table(struct sql_block *block, const struct sql_from *from)
{
    struct sql_statement *q = block->q;
    struct sql_with *with = sql_find_with(q, from->name);
    const char *alias = table_alias(q, from);
    struct sql_table *table =
        with != NULL || alias == NULL ? NULL : find_table(q, from, alias, from->column_count > 0 ? NULL : block->where);
    struct sql_result result;

    if (with != NULL) {
        return add_with(block, from, with);
    }
    if (table == NULL) {
        return false;
    }
    if (table->view != NULL) {
        return add_with(block, from, table->view);
    }
    result = (struct sql_result){.rel = {table->node, table->rows, table->rows}, .count = table->count};
    result.outputs = SQL_ARRAY(q, struct sql_output, table->count);
    for (size_t i = 0; i < table->count && result.outputs != NULL; i++) {
        result.outputs[i] = (struct sql_output){table->columns[i], table->columns[i]};
    }
    if (result.outputs == NULL || q->err != GRANARY_OK || !rename_columns(q, &result, false, from->position) ||
        !sql_add_result(block, from, alias, &result)) {
        return false;
    }
    for (size_t i = from->column_count; i < table->count && table->numbered; i++) { /* as DuckDB calls them */
        struct sql_column *column = block->columns[block->column_count - table->count + i];

        column->also = sql_printf(q, "column%zu", i);
        column->also_alone = true;
    }
    return q->err == GRANARY_OK;
}

bool
sql_add_rows(struct sql_block *block, const struct sql_from *from)
{
    struct sql_statement *q = block->q;
    const char *column = sql_fresh(q, "row");
    granary_node numbers = sql_node(q, "arange", from->position, NULL, 0);
    granary_node frame = numbers == GRANARY_NO_NODE ? numbers : sql_node(q, "from_tensor", from->position, &numbers, 1);
    double rows = ((double)from->stop - (double)from->start) / (double)from->step;
    struct sql_output output = {from->name, column};
    struct sql_result result = {.rel = {frame, rows, rows}, .outputs = &output, .count = 1};

    if (column == NULL || frame == GRANARY_NO_NODE) {
        return false;
    }
    granary_node_set_int(q->graph, numbers, "start", from->start);
    granary_node_set_int(q->graph, numbers, "stop", from->stop);
    granary_node_set_int(q->graph, numbers, "step", from->step);
    granary_node_set_strings(q->graph, frame, "columns", &column, 1);
    if (!sql_add_result(block, from, from->alias != NULL ? from->alias : from->name, &result)) {
        return false;
    }
    block->columns[block->column_count - 1]->hidden = strcmp(from->name, SQL_ROWS) == 0;
    return true;
}
