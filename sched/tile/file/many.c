/* See many.h: files are found, looked at in the stages of their format, and their columns become those of one table. */
#include "tile/file/many.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/concat.h"
#include "tile/file/many_own.h"
#include "tile/file/records.h"

static const struct gr_source source_many;
static granary_err settle(struct gr_file *file);

bool
many_is_meant(const Granary__Node *node, const struct gr_file_options *options)
{
    const struct gr_params_read_parquet *params = GR_NODE_PARAMS(read_parquet, node);

    return gr_op_info((enum gr_tile_op)gr_op_find(node->op))->yields == GR_YIELDS_FRAME &&
           (params->paths != NULL || params->filename != NULL || params->also != NULL ||
            strcmp(params->hive, "true") == 0 || gr_path_is_many(options->directory, params->path));
}

/* ---- the files ---- */

/* The format of files that a node reads. */
static const struct gr_format *
format_of(const Granary__Node *node)
{
    const struct gr_format *const *format = gr_formats;

    while (*format != NULL && strcmp((*format)->name, node->op + strlen("read_")) != 0) {
        format++;
    }
    return *format;
}

static granary_err
find_paths(struct many *many, const struct gr_file *file, const struct gr_file_options *options)
{
    const struct gr_params_read_parquet *params = GR_NODE_PARAMS(read_parquet, file->node);
    size_t more = params->paths == NULL ? 0 : params->paths->n_strings;
    const char **names = calloc(more + 1, sizeof *names);
    granary_err err;

    if (names == NULL) {
        return tile_no_memory();
    }
    names[0] = params->path;
    for (size_t i = 0; i < more; i++) {
        names[i + 1] = params->paths->strings[i];
    }
    err = gr_paths_find(options->directory, names, more + 1, format_of(file->node), &many->paths);
    free(names);
    return err;
}

/* A literal for each value of a key, of the dtype that takes all of them. */
static granary_err
read_key(struct many *many, const Granary__Attr *dtypes, size_t key)
{
    const struct gr_hive *hive = &many->hive;
    const struct gr_schema nothing = {0};
    uint32_t kinds = 0;
    granary_err err = GRANARY_OK;

    for (size_t f = 0; f < hive->files; f++) {
        kinds |= constant_kind(hive->values[f * hive->count + key]);
    }
    many->key_dtypes[key] = gr_dtype_of_kinds(kinds);
    for (size_t i = 0; dtypes != NULL && i < dtypes->n_keys; i++) {
        if (strcmp(dtypes->keys[i], hive->keys[key]) == 0) {
            (void)gr_csv_dtype_parse(dtypes->strings[i], &many->key_dtypes[key]);
        }
    }
    for (size_t f = 0; f < hive->files && err == GRANARY_OK; f++) {
        const char *value = hive->values[f * hive->count + key];
        struct gr_expr **literal = &many->literals[f * hive->count + key];
        char *text = NULL;

        err = constant_text(value, many->key_dtypes[key], &text);
        err = err == GRANARY_OK ? gr_expr_parse(value == NULL ? "null" : text, literal) : err;
        err = err == GRANARY_OK ? gr_expr_check(*literal, &nothing) : err;
        free(text);
        if (err != GRANARY_OK && err != GRANARY_ENOMEM) {
            err = gr_fail_in(err, "%s: '%s'", many->paths.names[f], hive->keys[key]);
        }
    }
    return err;
}

static granary_err
read_hive(struct many *many, const Granary__Node *node)
{
    const char *says = GR_NODE_PARAMS(read_parquet, node)->hive;
    const Granary__Attr *dtypes = gr_attr_find(node->attrs, node->n_attrs, "dtypes");
    granary_err err = GRANARY_OK;

    if (strcmp(says, "false") != 0) {
        err = gr_hive_read(many->paths.names, many->paths.count, strcmp(says, "true") == 0, &many->hive);
    }
    if (err == GRANARY_OK && many->hive.count > 0) {
        many->key_dtypes = calloc(many->hive.count, sizeof *many->key_dtypes);
        many->literals = calloc(many->hive.count * many->hive.files, sizeof(struct gr_expr *));
        err = many->key_dtypes == NULL || many->literals == NULL ? tile_no_memory() : GRANARY_OK;
    }
    for (size_t k = 0; k < many->hive.count && err == GRANARY_OK; k++) {
        err = read_key(many, dtypes, k);
    }
    return err;
}

/* A file without a byte has no rows and no columns, but in a format whose files begin with something. */
static bool
is_empty(const struct gr_file *file, const char *name, const struct gr_file_options *options)
{
    struct stat info;
    char *path = format_of(file->node)->is_text ? gr_path_absolute(options->directory, name) : NULL;
    bool is = path != NULL && stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0;

    free(path);
    return is;
}

/* Look at those that are wanted; without any, at one, which tells the columns. */
static granary_err
look_at_parts(struct gr_file *file, const bool *wanted, const struct gr_file_options *options)
{
    struct many *many = file->own;
    granary_err err = GRANARY_OK;

    many->parts = calloc(many->paths.count, sizeof *many->parts);
    many->stage = calloc(many->paths.count, sizeof *many->stage);
    if (many->parts == NULL || many->stage == NULL) {
        return tile_no_memory();
    }
    for (int round = 0; round < 3 && many->count == 0 && err == GRANARY_OK; round++) {
        for (size_t i = 0; i < many->paths.count && err == GRANARY_OK && (round == 0 || many->count == 0); i++) {
            const char *name = many->paths.names[i];
            struct many_part *part = &many->parts[many->count];

            if ((round > 0 || wanted[i]) && (round == 2 || !is_empty(file, name, options))) {
                err = file_create_part(file, many->source, name, options, &part->file);
                part->number = i;
                many->count += err == GRANARY_OK;
            }
        }
    }
    file->is_partial = many->count < many->paths.count;
    return err;
}

/* Of all that was looked at. */
static void
sum_up(struct gr_file *file)
{
    const struct many *many = file->own;
    uint64_t hash = many->paths.count;

    for (size_t p = 0; p < many->count; p++) {
        const struct gr_file *part = many->parts[p].file;

        hash = (hash ^ (uint64_t)part->modified_ns ^ (uint64_t)part->file_bytes << 20 ^ many->parts[p].number) *
               UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
        file->file_bytes += part->file_bytes;
        file->block_bytes = part->block_bytes > file->block_bytes ? part->block_bytes : file->block_bytes;
    }
    file->modified_ns = (int64_t)hash;
}

/* The parts that ask are a stage; without any, the table is known. */
static granary_err
next_stage(struct gr_file *file)
{
    const struct many *many = file->own;

    file->jobs = file->waiting = 0;
    for (size_t p = 0; p < many->count; p++) {
        if (many->parts[p].file->asks) {
            file->stage = many->parts[p].file->stage;
            file->jobs += many->parts[p].file->jobs;
            file->waiting++;
        }
    }
    file->asks = file->waiting > 0;
    return file->asks ? GRANARY_OK : settle(file);
}

granary_err
many_look(struct gr_file *file, const struct gr_node *node, const struct gr_file_options *options)
{
    struct many *many = calloc(1, sizeof *many);
    bool *wanted = NULL;
    granary_err err;

    if (many == NULL) {
        return tile_no_memory();
    }
    many->source = file->source;
    file->source = &source_many;
    file->own = many;
    err = find_paths(many, file, options);
    err = err == GRANARY_OK ? read_hive(many, file->node) : err;
    if (err == GRANARY_OK) {
        wanted = calloc(many->paths.count, sizeof *wanted);
        err = wanted == NULL ? tile_no_memory() : GRANARY_OK;
    }
    if (err == GRANARY_OK && many->hive.count > 0 && options->graph != NULL) {
        err = many_wanted(many, node, options->graph, wanted);
    } else if (err == GRANARY_OK) {
        memset(wanted, true, many->paths.count);
    }
    err = err == GRANARY_OK ? look_at_parts(file, wanted, options) : err;
    free(wanted);
    if (err != GRANARY_OK) {
        return err;
    }
    sum_up(file);
    return next_stage(file);
}

static void
many_free(struct gr_file *file)
{
    struct many *many = file->own;

    for (size_t p = 0; p < many->count; p++) {
        gr_file_destroy(many->parts[p].file);
        free(many->parts[p].to);
    }
    for (size_t l = 0; many->literals != NULL && l < many->hive.count * many->hive.files; l++) {
        gr_expr_destroy(many->literals[l]);
    }
    free(many->parts);
    free(many->stage);
    free(many->literals);
    free(many->key_dtypes);
    free(many->columns);
    gr_hive_free(&many->hive);
    gr_paths_free(&many->paths);
    free(many);
}

/* ---- stages ---- */

static void
many_start(struct gr_file *file, uint32_t step, struct gr_chunks *chunks)
{
    struct many *many = file->own;
    struct many_group group = {0};

    many->stage_count = 0;
    for (size_t p = 0; p < many->count; p++) {
        struct gr_file *part = many->parts[p].file;

        if (part->asks) {
            bool joins = many_group_takes(&group, part->jobs, (uint64_t)part->file_bytes);

            many->stage[many->stage_count++] = p;
            gr_file_start(part, step, chunks);
            if (joins && part->first_op < chunks->count) {
                chunks->chunks[part->first_op].joins = true;
            }
        }
    }
}

/* The part that an operator of this stage is on. */
static struct gr_file *
part_of(const struct many *many, uint32_t op)
{
    struct gr_file *found = NULL;

    for (size_t low = 0, high = many->stage_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        struct gr_file *part = many->parts[many->stage[middle]].file;

        if (part->first_op <= op) {
            found = part;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return found;
}

static granary_err
many_feed(struct gr_file *file, size_t job, const ProtobufCBinaryData *answer)
{
    struct gr_file *part = part_of(file->own, file->first_op + (uint32_t)job);
    granary_err err;

    if (part == NULL || part->known || part->asks) {
        return GRANARY_OK; /* it was told before */
    }
    err = gr_file_feed(part, file->first_op + job - part->first_op, answer);
    if (err == GRANARY_OK && (part->known || part->asks) && --file->waiting == 0) {
        err = next_stage(file);
        err = err == GRANARY_OK || err == GRANARY_ENOMEM
                  ? err
                  : gr_fail_in(err, "node '%s' (%s)", file->node->name, file->node->op);
    }
    file->known = err == GRANARY_OK && !file->asks && file->waiting == 0;
    return err;
}

static void
many_makers(const struct gr_file *file, gr_file_maker *tell, void *context)
{
    const struct many *many = file->own;

    for (size_t p = 0; p < many->count; p++) {
        gr_file_makers(many->parts[p].file, tell, context);
    }
}

static bool
many_tell_odd(const struct gr_file *file, size_t column, struct gr_buf *out)
{
    const struct many *many = file->own;
    bool told = false;

    for (size_t p = 0; p < many->count && !told && many->columns[column].key < 0 && !many->columns[column].is_name;
         p++) {
        const struct gr_schema *schema = &many->parts[p].file->type.schema;

        for (size_t c = 0; c < schema->count && !told; c++) {
            told = many->parts[p].to[c] == column && gr_file_tell_odd(many->parts[p].file, c, out);
        }
    }
    return told;
}

static const struct gr_source source_many = {.tile = many_tile,
                                             .makers = many_makers,
                                             .start = many_start,
                                             .feed = many_feed,
                                             .tell_odd = many_tell_odd,
                                             .free_own = many_free};

/* ---- columns ---- */

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

/* The dtype that takes the values of both. */
static granary_err
unify(struct table *table, size_t part, const struct gr_field *field, size_t at)
{
    struct gr_field fields[2] = {table->schema->fields[at], *field};
    const struct gr_schema one = {.count = 1, .fields = &fields[0]};
    const struct gr_schema other = {.count = 1, .fields = &fields[1]};
    const struct gr_concat below = {.axis = GR_CONCAT_ROWS};
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
        table->schema->fields[c].dtype = gr_dtype_of_kinds(table->many->columns[c].kinds);
    }
    for (size_t i = 0; dtypes != NULL && !lists_errors(table->file->node) && i < dtypes->n_keys && err == GRANARY_OK;
         i++) {
        int at = gr_schema_find(table->schema, dtypes->keys[i]);
        bool is_key = false;

        for (size_t k = 0; k < table->many->hive.count; k++) {
            is_key = is_key || strcmp(table->many->hive.keys[k], dtypes->keys[i]) == 0;
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
    const struct gr_hive *hive = &table->many->hive;
    const char *filename = GR_NODE_PARAMS(read_parquet, table->file->node)->filename;
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < hive->count && err == GRANARY_OK; k++) {
        int at = gr_schema_find(table->schema, hive->keys[k]);

        if (at >= 0) {
            table->many->columns[at].key = (int)k;
            table->schema->fields[at].dtype = table->many->key_dtypes[k];
        } else {
            err = add_column(table, hive->keys[k], table->many->key_dtypes[k], &(struct many_column){.key = (int)k});
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
static granary_err
settle(struct gr_file *file)
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
