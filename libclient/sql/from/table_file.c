/*
 * Files in FROM. Of a folder all files are opened for the names of their columns, but not those that a condition on the
 * folders' own columns leaves out: KEY=VALUE is known without them. The same condition then stands directly above the
 * files, so that nobody else opens them either.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "client/builder.h"
#include "data/file/paths/spool.h"
#include "data/file/sketch.h"
#include "graph/folders/partition.h"
#include "graph/graph.h"
#include "sql/from/file.h"
#include "sql/from/table.h"

static bool
has_sketch(const struct gr_format *format)
{
    return format->sketch != NULL;
}

/* "-" is stdin; others have a slash: a name without one is that of a table. */
static bool
is_pipe(const char *name)
{
    return (strcmp(name, "-") == 0 || strchr(name, '/') != NULL) && gr_spool_is_meant(name);
}

bool
sql_is_file(const char *name)
{
    const struct gr_format_ending *ending;
    const struct gr_format *format = gr_format_of_path(name, &ending);

    if (is_pipe(name)) {
        return true;
    }
    if (format == NULL) { /* a folder, or a pattern whose files tell: a name without a slash is that of a table */
        return strchr(name, '/') != NULL && gr_path_is_many(NULL, name);
    }
    return !ending->is_vague && (format->sketch != NULL || format->refusal != NULL);
}

bool
sql_is_folder(const char *name)
{
    struct stat info;

    return stat(name, &info) == 0 && S_ISDIR(info.st_mode);
}

/* A path whose ending does not tell what is in the file. */
bool
sql_no_format(struct sql_statement *q, const struct sql_from *from)
{
    struct gr_buf endings = {0};
    bool failed;

    if (access(from->name, F_OK) != 0) {
        return sql_fail(q, GRANARY_ENOENT, from->position, "%s: %s", from->name, strerror(errno));
    }
    if (sql_is_folder(from->name)) {
        return sql_fail(q, GRANARY_EINVAL, from->position, "%s: is a directory; write '%s/' for all files in it",
                        from->name, from->name);
    }
    gr_format_list(has_sketch, false, &endings);
    failed = sql_fail(q, GRANARY_EINVAL, from->position,
                      "%s: its ending must tell the format: %.*s; or say it, as in read_csv('%s')", from->name,
                      (int)endings.size, endings.bytes, from->name);
    gr_buf_free(&endings);
    return failed;
}

/* ---- a condition on folders ---- */

/* Keys as columns that a condition may name. */
static struct sql_block *
keys_of(struct sql_statement *q, const struct gr_hive *hive, const char *alias)
{
    struct sql_block *keys = SQL_NEW(q, struct sql_block);

    if (keys == NULL) {
        return NULL;
    }
    keys->q = q;
    for (size_t k = 0; k < hive->count && q->err == GRANARY_OK; k++) {
        const char *key = sql_printf(q, "%s", hive->keys[k]);

        (void)sql_add_column(keys, alias, key, key, 0);
    }
    return q->err == GRANARY_OK ? keys : NULL;
}

/* Whether a part is on keys alone, which its names mean then. *has_key: it names one */
static bool
is_on_keys(const struct sql_block *keys, struct sql_expr *expr, bool *has_key)
{
    bool ambiguous = false;
    bool is = expr->kind != SQL_SUBQUERY && expr->kind != SQL_AGGREGATE && expr->kind != SQL_STAR;

    if (expr->kind == SQL_COLUMN) { /* bound again when its block is */
        expr->column = sql_find_column(keys, expr->table, expr->text, &ambiguous);
        is = expr->column != NULL && !ambiguous;
        *has_key = *has_key || is;
    }
    for (size_t i = 0; i < expr->count && is; i++) {
        is = is_on_keys(keys, expr->args[i], has_key);
    }
    return is;
}

/* What a condition says about keys, as graphs have it. NULL: nothing, or the statement has failed. */
static const char *
said_of_keys(struct sql_block *keys, struct sql_expr *expr)
{
    const char *said = NULL;
    bool has_key = false;

    if (is_on_keys(keys, expr, &has_key)) {
        return has_key ? sql_text(keys, expr) : NULL;
    }
    for (size_t i = 0; (expr->kind == SQL_AND || expr->kind == SQL_OR) && i < expr->count; i++) {
        const char *part = said_of_keys(keys, expr->args[i]);

        if (part == NULL && expr->kind == SQL_OR) { /* this branch lets any file through */
            return NULL;
        }
        said = part == NULL   ? said
               : said == NULL ? sql_printf(keys->q, "(%s)", part)
                              : sql_printf(keys->q, "%s %s (%s)", said, expr->kind == SQL_OR ? "or" : "and", part);
    }
    return said;
}

/* ---- many files ---- */

/* A table whose columns are being told. */
struct file_columns {
    struct gr_sketch sketch;
    struct sql_statement *q;
    struct sql_table *table;
};

static granary_err
take_column(struct gr_sketch *sketch, const char *name)
{
    struct file_columns *columns = (struct file_columns *)sketch;

    return sql_table_add_column(columns->q, columns->table, sql_printf(columns->q, "%s", name)) ? GRANARY_OK
                                                                                                : columns->q->err;
}

/* A column that may be there already. */
static granary_err
add_other_column(struct file_columns *columns, const char *name)
{
    const struct sql_table *table = columns->table;
    size_t i = 0;

    while (i < table->count && strcmp(table->columns[i], name) != 0) {
        i++;
    }
    return i < table->count || sql_table_add_column(columns->q, columns->table, sql_printf(columns->q, "%s", name))
               ? GRANARY_OK
               : columns->q->err;
}

/* What the node that reads them says. */
struct files {
    const Granary__Node *node;
    const Granary__Attr *paths;
    const Granary__Attr *also;
    const char *hive;
    const char *filename;
    struct gr_paths found;
    struct gr_partition partition;
};

static const Granary__Attr *
attr_of(const struct files *files, const char *name)
{
    return gr_attr_find(files->node->attrs, files->node->n_attrs, name);
}

static const char *
text_of(const struct files *files, const char *name, const char *otherwise)
{
    return gr_attr_string(files->node->attrs, files->node->n_attrs, name, otherwise);
}

static granary_err
look_at_node(struct sql_statement *q, granary_node node, struct files *files)
{
    Granary__Graph *message;
    granary_err err = gr_builder_open(q->graph, &message);

    if (err == GRANARY_OK) {
        *files = (struct files){.node = message->nodes[node]};
        files->paths = attr_of(files, "paths");
        files->also = attr_of(files, "also");
        files->hive = text_of(files, "hive", "auto");
        files->filename = text_of(files, "filename", NULL);
    }
    return err;
}

static granary_err
find_files(struct sql_statement *q, const struct gr_format *format, const char *name, struct files *files)
{
    size_t more = files->paths == NULL ? 0 : files->paths->n_strings;
    const char **names = SQL_ARRAY(q, const char *, more + 1);
    granary_err err = names == NULL ? q->err : GRANARY_OK;

    if (err == GRANARY_OK) {
        names[0] = name;
        for (size_t i = 0; i < more; i++) {
            names[i + 1] = files->paths->strings[i];
        }
        err = gr_paths_find(NULL, names, more + 1, format, &files->found);
    }
    return err == GRANARY_OK ? gr_partition_read(files->found.names, files->found.count, files->hive,
                                                 attr_of(files, "dtypes"), &files->partition)
                             : err;
}

/* Flag the files that a condition on folders leaves in. *ret_said: it; NULL: all are left in */
static granary_err
choose_files(struct sql_statement *q, const struct files *files, const char *alias, struct sql_expr *where,
             bool **ret_wanted, const char **ret_said)
{
    struct sql_block *keys = keys_of(q, &files->partition.hive, alias);
    const char *said = keys == NULL ? NULL : said_of_keys(keys, where);
    struct gr_expr *condition = NULL;
    bool *wanted = said == NULL ? NULL : SQL_ARRAY(q, bool, files->found.count);
    size_t left = 0;
    granary_err err = q->err;

    if (wanted != NULL && (err = gr_expr_parse(said, &condition)) == GRANARY_OK) {
        for (size_t f = 0; f < files->found.count; f++) {
            wanted[f] = !gr_partition_excludes(&files->partition, f, NULL, condition);
            left += wanted[f];
        }
        gr_expr_destroy(condition);
    }
    *ret_wanted = wanted;
    *ret_said = wanted == NULL || left == files->found.count ? NULL : said;
    return err;
}

static granary_err
sketch_many(struct file_columns *columns, const struct gr_format *format, const char *delimiter,
            const struct sql_from *from, struct files *files, const char *alias, struct sql_expr *where,
            const char **ret_said)
{
    struct sql_statement *q = columns->q;
    struct gr_sketch_files told = {.paths = &files->found,
                                   .by_position = strcmp(text_of(files, "align", "name"), "position") == 0};
    bool *wanted = NULL;
    bool varies = false;
    granary_err err = find_files(q, format, from->name, files);

    if (err == GRANARY_OK && where != NULL && files->partition.hive.count > 0) {
        err = choose_files(q, files, alias, where, &wanted, ret_said);
    }
    told.wanted = wanted;
    err = err == GRANARY_OK ? gr_sketch_files(format, &told, delimiter, &columns->sketch, &varies) : err;
    for (size_t k = 0; k < files->partition.hive.count && err == GRANARY_OK; k++) {
        err = add_other_column(columns, files->partition.hive.keys[k]);
    }
    if (err == GRANARY_OK && files->filename != NULL) {
        err = take_column(&columns->sketch, files->filename);
    }
    for (size_t i = 0; files->also != NULL && i < files->also->n_strings && err == GRANARY_OK; i++) {
        err = add_other_column(columns, files->also->strings[i]);
    }
    if (err == GRANARY_OK && varies) { /* a condition may leave out all files that have a column */
        granary_node_set_strings(q->graph, columns->table->node, "also", columns->table->columns,
                                 columns->table->count);
    }
    return err;
}

/* ---- any ---- */

static bool
is_many(const struct files *files, const char *name)
{
    return files->paths != NULL || files->filename != NULL || files->also != NULL || strcmp(files->hive, "true") == 0 ||
           gr_path_is_many(NULL, name);
}

static granary_err
sketch(struct file_columns *columns, const struct gr_format *format, const char *delimiter, const struct sql_from *from,
       const char *alias, struct sql_expr *where, const char **ret_said)
{
    struct files files = {.node = NULL};
    granary_err err = look_at_node(columns->q, columns->table->node, &files);

    if (err == GRANARY_OK) {
        err = is_many(&files, from->name)
                  ? sketch_many(columns, format, delimiter, from, &files, alias, where, ret_said)
                  : format->sketch(from->name, delimiter, &columns->sketch);
    }
    gr_partition_free(&files.partition);
    gr_paths_free(&files.found);
    return err;
}

/* A file that is named alone has the columns of its folders, too, where no option says whether. */
static void
take_folders(struct sql_statement *q, granary_node node, const struct sql_from *from, const struct gr_format *format)
{
    char *name = (char *)(uintptr_t)from->name;
    int op = gr_op_find(sql_printf(q, "read_%s", format->name));
    struct gr_hive hive = {.count = 0};
    bool said = sql_file_option(from->file, "hive") != NULL;

    if (said || strchr(name, '=') == NULL || (from->file != NULL && from->file->is_copied) || op < 0 ||
        gr_param_find((enum gr_tile_op)op, "hive") == NULL || gr_path_is_many(NULL, name)) {
        return;
    }
    if (gr_hive_read(&name, 1, false, &hive) == GRANARY_OK && hive.count > 0) {
        granary_node_set_string(q->graph, node, "hive", "true");
    }
    gr_hive_free(&hive);
}

/* A pipe is read now, and only once: not again to word an error. */
static bool
open_pipe(struct sql_statement *q, struct sql_from *from, const struct gr_format **ret_format)
{
    const struct gr_format *found = NULL;
    const char *path = NULL;
    granary_err err = gr_spool(from->name, q->telling != NULL, &path, &found);

    if (err != GRANARY_OK) {
        return sql_fail(q, err, from->position, "%s", granary_error_message());
    }
    if ((from->file == NULL || from->file->format == NULL) && gr_format_of_path(from->name, NULL) == NULL) {
        *ret_format = found;
    }
    from->name = path;
    return true;
}

bool
sql_open_file(struct sql_statement *q, const struct sql_from *named, const char *alias, struct sql_expr *where,
              struct sql_table *table)
{
    const char *delimiter = sql_file_option(named->file, "delimiter");
    const char *errors = sql_file_option(named->file, "errors");
    struct file_columns columns = {.sketch = {.column = take_column}, .q = q, .table = table};
    const struct gr_format_ending *ending = NULL;
    const struct gr_format *format = NULL;
    struct sql_from opened = *named;
    const struct sql_from *from = &opened;
    struct sql_rel rows = {.node = GRANARY_NO_NODE};
    struct gr_dialect dialect;
    struct gr_header_style style;
    const char *said = NULL;
    granary_err err;

    if (gr_spool_is_meant(named->name) && !open_pipe(q, &opened, &format)) {
        return false;
    }
    format = format == NULL ? sql_file_format(q, named->file, named->name, named->position, &ending) : format;
    if (format == NULL) {
        return false;
    }
    table->node = sql_file_node(q, "read", format, ending, from->file, from->name, from->position, NULL, 0);
    if (q->err != GRANARY_OK) {
        return false;
    }
    take_folders(q, table->node, from, format);
    columns.sketch.lists = errors != NULL && strcmp(errors, "list") == 0;
    columns.sketch.how = errors != NULL && strcmp(errors, "refuse") != 0 ? GR_SNIFF_LOOSE
                         : from->file != NULL && from->file->is_copied   ? GR_SNIFF_TABLE
                                                                         : GR_SNIFF_ANY;
    sql_file_header(from->file, &style, &columns.sketch);
    columns.sketch.table = sql_file_option(from->file, "table");
    delimiter = delimiter != NULL ? delimiter : ending != NULL ? ending->delimiter : format->endings[0].delimiter;
    if (delimiter != NULL && sql_file_dialect(from->file, delimiter, &dialect)) {
        columns.sketch.dialect = &dialect;
    }
    err = sketch(&columns, format, delimiter, from, alias, q->all_files ? NULL : where, &said);
    if (err != GRANARY_OK) {
        return q->err == GRANARY_OK && sql_fail(q, err, from->position, "%s", granary_error_message());
    }
    table->rows = columns.sketch.rows;
    table->numbered = format == &gr_format_csv && table->count > 0;
    for (size_t i = 0; i < table->count && table->numbered; i++) {
        table->numbered = strcmp(table->columns[i], sql_printf(q, "c%zu", i)) == 0;
    }
    if (columns.sketch.sniffed) {
        granary_node_set_bool(q->graph, table->node, "sniff", true);
    }
    if (said != NULL) {
        table->is_part = true;
        q->left_out = true;
        rows.node = table->node;
        if (!sql_rel_filter(q, &rows, said, where->position)) {
            return false;
        }
        table->node = rows.node;
    }
    return true;
}
