/* Columns of many files become those of one table: by their names or positions, with the dtypes that take all values. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/operators/concat.h"
#include "tile/file/many/own.h"
#include "tile/file/records.h"

/* A table being made of the columns of files. */
struct table {
    struct gr_file *file;
    struct many *many;
    struct gr_schema *schema;
    size_t room; /* of many->columns */
    bool by_position;
    bool is_text;
};

static granary_err
add_column(struct table *table, const char *name, granary_dtype dtype, const struct many_column *column)
{
    if (table->schema->count == RECORDS_COLUMNS_MAX) {
        return gr_fail(GRANARY_EINVAL, "more than %d columns", RECORDS_COLUMNS_MAX);
    }
    if (table->schema->count >= table->room) {
        size_t room = 2 * table->room + 16;
        struct many_column *columns = reallocarray(table->many->columns, room, sizeof *columns);

        if (columns == NULL) {
            return tile_no_memory();
        }
        table->many->columns = columns;
        table->room = room;
    }
    table->many->columns[table->schema->count] = *column;
    return gr_schema_add(table->schema, name, dtype);
}

/* Whether values of another kind follow a file's strings, and become strings; so with the items of lists, which may be
 * numbers of two dtypes, too. */
static bool
is_converted(granary_dtype first, granary_dtype other)
{
    bool lists = gr_dtype_is_list(first) && gr_dtype_is_list(other);
    granary_dtype item = lists ? GRANARY_LIST_ITEM(first) : first;

    return gr_dtype_kind(item) == GRANARY_STRING ||
           (lists && gr_dtype_is_number(item) && gr_dtype_is_number(GRANARY_LIST_ITEM(other)));
}

/* The dtype that takes the values of both. */
static granary_err
unify(struct table *table, size_t part, const struct gr_field *field, size_t at)
{
    struct gr_field fields[2] = {table->schema->fields[at], *field};
    const struct gr_schema one = {.count = 1, .fields = &fields[0]};
    const struct gr_schema other = {.count = 1, .fields = &fields[1]};
    const struct gr_concat below = {.axis = GR_CONCAT_ROWS, .convert = is_converted(fields[0].dtype, field->dtype)};
    struct gr_schema both = {0};
    struct many_column *column = &table->many->columns[at];
    granary_err err;

    if (field->dtype == fields[0].dtype) {
        return GRANARY_OK;
    }
    if (!gr_field_is_readable(&fields[0]) || !gr_field_is_readable(&fields[1])) { /* an error when it is wanted */
        table->schema->fields[at].dtype = GR_DTYPE_OTHER;
        return GRANARY_OK;
    }
    fields[1].name = fields[0].name;
    err = gr_concat_schema(&below, (const struct gr_schema *const[]){&one, &other}, 2, &both);
    if (err == GRANARY_OK && both.fields[0].dtype != fields[0].dtype) {
        table->schema->fields[at].dtype = both.fields[0].dtype;
        column->file = part;
    } else if (err == GRANARY_ETYPE) {
        err = gr_fail(GRANARY_ETYPE, "column '%s' is %s in %s and %s in %s", fields[0].name,
                      granary_dtype_name(fields[0].dtype), table->many->parts[column->file].file->name,
                      granary_dtype_name(field->dtype), table->many->parts[part].file->name);
    }
    gr_schema_free(&both);
    return err;
}

/* Where a column of a file is in the table, which may be at the same place as in the file. */
static int
place_of(const struct table *table, const char *name, size_t column)
{
    if (table->by_position) {
        return column < table->schema->count ? (int)column : -1;
    }
    return column < table->schema->count && strcmp(table->schema->fields[column].name, name) == 0
               ? (int)column
               : gr_schema_find(table->schema, name);
}

static granary_err
add_part(struct table *table, size_t part)
{
    struct many_part *of = &table->many->parts[part];
    const struct gr_schema *schema = &of->file->type.schema;
    granary_err err = GRANARY_OK;

    of->to = calloc(schema->count + 1, sizeof *of->to);
    if (of->to == NULL) {
        return tile_no_memory();
    }
    for (size_t c = 0; c < schema->count && err == GRANARY_OK; c++) {
        const struct gr_field *field = &schema->fields[c];
        int at = place_of(table, field->name, c);

        if (at < 0) {
            at = (int)table->schema->count;
            err = gr_schema_find(table->schema, field->name) >= 0
                      ? gr_fail(GRANARY_EINVAL, "%s: its column %zu is called '%s', as another one of the first file's",
                                of->file->name, c + 1, field->name)
                      : add_column(table, field->name, field->dtype, &(struct many_column){.file = part, .key = -1});
        } else if (!table->is_text) {
            err = unify(table, part, field, (size_t)at);
        }
        of->to[c] = (size_t)at;
        if (err == GRANARY_OK && of->file->kinds != NULL) {
            table->many->columns[at].kinds |= of->file->kinds[c];
        }
    }
    return err;
}

/* All files have the columns of the first, of the same dtypes where they say so. */
static granary_err
check_same(const struct table *table, size_t part)
{
    const struct many_part *of = &table->many->parts[part];
    const struct gr_schema *first = &table->many->parts[0].file->type.schema;
    const struct gr_schema *schema = &of->file->type.schema;

    for (size_t c = 0; c < schema->count; c++) {
        if (of->to[c] >= first->count) {
            return gr_fail(GRANARY_ETYPE, "%s has a column '%s', which %s has not: schemas 'join' allows that",
                           of->file->name, schema->fields[c].name, table->many->parts[0].file->name);
        }
        if (!table->is_text && schema->fields[c].dtype != first->fields[of->to[c]].dtype) {
            return gr_fail(GRANARY_ETYPE, "column '%s' is %s in %s and %s in %s: schemas 'join' allows that",
                           schema->fields[c].name, granary_dtype_name(first->fields[of->to[c]].dtype),
                           table->many->parts[0].file->name, granary_dtype_name(schema->fields[c].dtype),
                           of->file->name);
        }
    }
    for (size_t c = 0, k; c < first->count; c++) {
        for (k = 0; k < schema->count && of->to[k] != c; k++) {
        }
        if (k == schema->count) {
            return gr_fail(GRANARY_ETYPE, "%s has no column '%s', which %s has: schemas 'join' makes it null there",
                           of->file->name, first->fields[c].name, table->many->parts[0].file->name);
        }
    }
    return GRANARY_OK;
}

/* Of text: what all files have in a column decides its dtype, or who reads it. */
static granary_err
settle_dtypes(struct table *table)
{
    const Granary__Attr *dtypes = gr_attr_find(table->file->node->attrs, table->file->node->n_attrs, "dtypes");
    granary_err err = GRANARY_OK;

    for (size_t c = 0; c < table->schema->count && table->is_text; c++) {
        table->schema->fields[c].dtype = records_dtype(table->file->node, table->many->columns[c].kinds);
    }
    for (size_t i = 0; dtypes != NULL && !lists_errors(table->file->node) && i < dtypes->n_keys && err == GRANARY_OK;
         i++) {
        int at = gr_schema_find(table->schema, dtypes->keys[i]);
        bool is_key = false;

        for (size_t k = 0; k < table->many->partition.hive.count; k++) {
            is_key = is_key || strcmp(table->many->partition.hive.keys[k], dtypes->keys[i]) == 0;
        }
        if (at >= 0) {
            (void)gr_csv_dtype_parse(dtypes->strings[i], &table->schema->fields[at].dtype);
        } else if (!is_key) {
            err = gr_fail_in(gr_schema_no_column(table->schema, dtypes->keys[i]), "dtypes");
        }
    }
    return err;
}

/* Columns that no file has. */
static granary_err
add_nulls(struct table *table)
{
    const Granary__Attr *also = GR_NODE_PARAMS(read_parquet, table->file->node)->also;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; also != NULL && i < also->n_strings && err == GRANARY_OK; i++) {
        if (gr_schema_find(table->schema, also->strings[i]) < 0) {
            err = add_column(table, also->strings[i], GRANARY_NULLTYPE, &(struct many_column){.key = -1});
        }
    }
    return err;
}

/* What folders tell, also instead of a column of the files; then the files' names. */
static granary_err
add_constants(struct table *table)
{
    const struct gr_hive *hive = &table->many->partition.hive;
    const char *filename = GR_NODE_PARAMS(read_parquet, table->file->node)->filename;
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < hive->count && err == GRANARY_OK; k++) {
        int at = gr_schema_find(table->schema, hive->keys[k]);

        if (at >= 0) {
            table->many->columns[at].key = (int)k;
            table->schema->fields[at].dtype = table->many->partition.dtypes[k];
        } else {
            err = add_column(table, hive->keys[k], table->many->partition.dtypes[k],
                             &(struct many_column){.key = (int)k});
        }
    }
    if (err == GRANARY_OK && filename != NULL) {
        err = gr_schema_find(table->schema, filename) >= 0
                  ? gr_fail(GRANARY_EINVAL, "parameter 'filename': the files have a column '%s'", filename)
                  : add_column(table, filename, GRANARY_STRING, &(struct many_column){.key = -1, .is_name = true});
    }
    return err;
}

/* Whether a part's values must be cast, so that its statistics are not those of the table. */
static void
mark_recast(const struct table *table, struct many_part *part)
{
    const struct gr_schema *schema = &part->file->type.schema;

    for (size_t c = 0; c < schema->count && !table->is_text; c++) {
        granary_dtype mine = schema->fields[c].dtype;
        granary_dtype theirs = table->schema->fields[part->to[c]].dtype;

        part->file->is_recast = part->file->is_recast || table->by_position || mine != theirs;
    }
}

/* All files are known: so is the table. */
granary_err
many_settle(struct gr_file *file)
{
    const struct gr_params_read_parquet *params = GR_NODE_PARAMS(read_parquet, file->node);
    struct many *many = file->own;
    struct table table = {.file = file,
                          .many = many,
                          .schema = &file->type.schema,
                          .by_position = strcmp(params->align, "position") == 0,
                          .is_text = many->source->start != NULL};
    bool same = strcmp(params->schemas, "same") == 0;
    granary_err err = GRANARY_OK;

    for (size_t p = 0; p < many->count && err == GRANARY_OK; p++) {
        free(many->parts[p].to);
        err = add_part(&table, p);
        err = err == GRANARY_OK && same ? check_same(&table, p) : err;
    }
    err = err == GRANARY_OK ? settle_dtypes(&table) : err;
    err = err == GRANARY_OK ? add_constants(&table) : err;
    err = err == GRANARY_OK ? add_nulls(&table) : err;
    for (size_t p = 0; p < many->count && err == GRANARY_OK; p++) {
        mark_recast(&table, &many->parts[p]);
    }
    file->stage = many->source->start != NULL ? "known" : NULL;
    return err;
}
