/*
 * Many files as pieces of one table. Each file that is wanted is tiled as if it were alone, by a step that yields its own
 * columns. Where these are not the table's, they are brought to them; small pieces are put together at the end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "data/frame.h"
#include "tile/file/many/own.h"
#include "tile/file/tiles.h"
#include "tile/source/choose.h"

/* ---- which files ---- */

/* Flag the parts that some reader of step i wants. */
static void
choose_parts(const struct tiling *t, size_t i, const struct many *many, bool *chosen)
{
    bool all = many->partition.hive.count == 0 || t->steps->steps[i].is_target;

    for (size_t r = i + 1; r < t->steps->count && !all; r++) {
        const struct gr_step *reader = &t->steps->steps[r];

        for (size_t k = 0; k < reader->input_count && !reader->dead && !all; k++) {
            const struct gr_expr *where = reader->inputs[k] == i ? zone_condition(reader, k) : NULL;

            all = reader->inputs[k] == i && where == NULL;
            for (size_t p = 0; where != NULL && p < many->count; p++) {
                chosen[p] = chosen[p] || !gr_partition_excludes(&many->partition, many->parts[p].number, NULL, where);
            }
        }
    }
    if (all) {
        memset(chosen, true, many->count);
    }
}

/* ---- columns of a file ---- */

struct part_step {
    struct gr_step step;
    struct gr_node_type type;
    bool is_bare; /* what it yields is the table's, as it is */
};

/* A column that is read for the number of rows alone: the narrowest. */
static size_t
any_column(const struct gr_schema *schema)
{
    size_t best = 0;

    for (size_t c = 0; c < schema->count; c++) {
        int size = gr_field_is_readable(&schema->fields[c]) ? gr_dtype_size(schema->fields[c].dtype) : 0;
        int least = gr_field_is_readable(&schema->fields[best]) ? gr_dtype_size(schema->fields[best].dtype) : 0;

        best = size > 0 && (least <= 0 || size < least) ? c : best;
    }
    return best;
}

/* The step that reads those columns of a part that the whole step yields. */
static granary_err
make_step(struct tiling *t, const struct gr_file *file, const struct gr_step *whole, const struct many_part *part,
          struct part_step *made)
{
    const struct many *many = file->own;
    const struct gr_schema *table = &whole->type->schema;
    const struct gr_schema *own = &part->file->type.schema;
    struct gr_field *fields = tiling_scratch(t, own->count + 1, sizeof *fields);
    bool *present = tiling_scratch(t, own->count + 1, sizeof *present);
    size_t width = 0;

    if (fields == NULL || present == NULL) {
        return tile_no_memory();
    }
    *made = (struct part_step){.step = *whole, .type = part->file->type};
    for (size_t c = 0; c < own->count; c++) {
        size_t to = part->to[c];

        fields[c] = own->fields[c];
        present[c] = gr_step_yields(whole, to) && many->columns[to].key < 0;
        if (many->source->start != NULL) { /* text is read as what the table has */
            fields[c].dtype = table->fields[to].dtype;
        }
        width += present[c];
    }
    made->type.schema = (struct gr_schema){.count = own->count, .fields = fields};
    made->step.type = &made->type;
    made->step.present = present;
    made->is_bare = gr_step_yields_as(&made->step, whole);
    if (width == 0 && own->count > 0) {
        present[any_column(own)] = true;
    }
    return GRANARY_OK;
}

static granary_err
print_column(const struct many *many, const struct gr_field *field, const struct many_part *part, size_t c,
             struct gr_buf *out)
{
    const struct many_column *column = &many->columns[c];
    const struct gr_schema *own = &part->file->type.schema;
    char *text = NULL;
    size_t at = 0;
    granary_err err = GRANARY_OK;

    if (column->key >= 0 || column->is_name) {
        err = constant_text(
            column->is_name
                ? many->paths.names[part->number]
                : many->partition.hive.values[part->number * many->partition.hive.count + (size_t)column->key],
            field->dtype, &text);
        gr_buf_addf(out, "%s", err == GRANARY_OK ? text : "");
        free(text);
        return err;
    }
    while (at < own->count && part->to[at] != c) {
        at++;
    }
    if (at == own->count && field->dtype == GRANARY_NULLTYPE) {
        gr_buf_addf(out, "null");
    } else if (at == own->count) {
        gr_buf_addf(out, "cast(null as %s)", granary_dtype_name(field->dtype));
    } else if (own->fields[at].dtype == field->dtype || many->source->start != NULL) {
        gr_expr_print_name(own->fields[at].name, out);
    } else {
        gr_buf_addf(out, "cast(");
        gr_expr_print_name(own->fields[at].name, out);
        gr_buf_addf(out, " as %s)", granary_dtype_name(field->dtype));
    }
    return GRANARY_OK;
}

/* An expression for each column that the step yields. */
static granary_err
add_projection(struct tiling *t, const struct many *many, const struct gr_step *step, const struct many_part *part,
               gr_attrs *ret_attrs)
{
    const struct gr_schema *schema = &step->type->schema;
    char **names = tiling_scratch(t, schema->count + 1, sizeof *names);
    char **texts = tiling_scratch(t, schema->count + 1, sizeof *texts);
    size_t count = 0;
    granary_err err = names == NULL || texts == NULL ? tile_no_memory() : GRANARY_OK;

    for (size_t c = 0; c < schema->count && err == GRANARY_OK; c++) {
        struct gr_buf text = {0};

        if (gr_step_yields(step, c)) {
            err = print_column(many, &schema->fields[c], part, c, &text);
            names[count] = schema->fields[c].name;
            texts[count] = gr_buf_take(&text);
            err = err == GRANARY_OK && texts[count] == NULL ? tile_no_memory() : err;
            count++;
        }
    }
    if (err == GRANARY_OK) {
        *ret_attrs = gr_chunks_attrs(t->chunks);
        gr_attrs_add(t->chunks, *ret_attrs, gr_attr_new_map("columns", names, texts, count));
    }
    for (size_t n = 0; texts != NULL && n < count; n++) {
        free(texts[n]);
    }
    return err;
}

/* ---- the rule ---- */

static granary_err
tile_part(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step,
          const struct many_part *part, struct gr_tiled *out)
{
    const struct many *many = file->own;
    struct part_step own;
    gr_attrs attrs = 0;
    granary_err err = make_step(t, file, step, part, &own);

    err = err == GRANARY_OK ? many->source->tile(t, i, part->file, &own.step, out) : err;
    if (err != GRANARY_OK || own.is_bare) {
        return err;
    }
    err = add_projection(t, many, step, part, &attrs);
    for (size_t p = 0; p < out->count && err == GRANARY_OK; p++) {
        out->bytes[p] = out->bytes[p] / (gr_step_width(&own.step) + 1) * (gr_step_width(step) + 1);
        out->pieces[p] = tiling_add(t, i, GR_CHUNK_project, attrs, &out->pieces[p], 1, out->bytes[p]);
    }
    return err;
}

/* Pieces of all files so far; lists in the rule's own memory. */
struct pieces {
    struct gr_piece *pieces;
    uint64_t *bytes;
    int64_t *rows;
    size_t count;
    size_t room;
};

static bool
pieces_room(struct tiling *t, struct pieces *list, size_t more)
{
    struct pieces grown = {.count = list->count, .room = 2 * (list->count + more)};

    if (list->count + more <= list->room) {
        return true;
    }
    grown.pieces = tiling_scratch(t, grown.room, sizeof *grown.pieces);
    grown.bytes = tiling_scratch(t, grown.room, sizeof *grown.bytes);
    grown.rows = tiling_scratch(t, grown.room, sizeof *grown.rows);
    if (grown.pieces == NULL || grown.bytes == NULL || grown.rows == NULL) {
        return false;
    }
    if (list->count > 0) {
        memcpy(grown.pieces, list->pieces, list->count * sizeof *grown.pieces);
        memcpy(grown.bytes, list->bytes, list->count * sizeof *grown.bytes);
        memcpy(grown.rows, list->rows, list->count * sizeof *grown.rows);
    }
    *list = grown;
    return true;
}

static void
pieces_add(struct pieces *list, struct gr_piece piece, uint64_t bytes, int64_t rows)
{
    list->pieces[list->count] = piece;
    list->bytes[list->count] = bytes;
    list->rows[list->count++] = rows;
}

/* A group of small files is one piece. */
static granary_err
end_group(struct tiling *t, size_t i, struct pieces *group, struct pieces *all)
{
    int64_t rows = 0;
    uint64_t bytes = bytes_sum(group->bytes, group->count);
    struct gr_piece piece;

    if (group->count == 0) {
        return GRANARY_OK;
    }
    for (size_t p = 0; p < group->count; p++) {
        rows = rows < 0 || group->rows[p] < 0 ? -1 : rows + group->rows[p];
    }
    if (!pieces_room(t, all, 1)) {
        return tile_no_memory();
    }
    piece = group->count == 1
                ? group->pieces[0]
                : tiling_add(t, i, GR_CHUNK_concat, gr_chunks_attrs(t->chunks), group->pieces, group->count, bytes);
    pieces_add(all, piece, bytes, rows);
    group->count = 0;
    return GRANARY_OK;
}

/* The pieces of one more file. A small one goes with those before it. */
static granary_err
add_part(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step,
         const struct many_part *part, bool joins, struct pieces *group, struct pieces *all)
{
    struct gr_tiled tiled;
    struct pieces *to = group;
    granary_err err = joins ? GRANARY_OK : end_group(t, i, group, all);
    uint32_t first = t->chunks->count;

    err = err == GRANARY_OK ? tile_part(t, i, file, step, part, &tiled) : err;
    if (err == GRANARY_OK && joins && first < t->chunks->count) {
        t->chunks->chunks[first].joins = true;
    }
    if (err == GRANARY_OK && tiled.count != 1) {
        to = all;
        err = end_group(t, i, group, all);
    }
    if (err == GRANARY_OK && !pieces_room(t, to, tiled.count)) {
        err = tile_no_memory();
    }
    for (size_t p = 0; err == GRANARY_OK && p < tiled.count; p++) {
        pieces_add(to, tiled.pieces[p], tiled.bytes[p], tiled.rows[p]);
    }
    return err;
}

/* A column that cannot be read is wanted: the first file that has such a one refuses. */
static granary_err
check_columns(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step)
{
    const struct many *many = file->own;
    const struct gr_schema *table = &step->type->schema;
    struct gr_tiled refused;
    granary_err err = GRANARY_OK;

    for (size_t c = 0; c < table->count && err == GRANARY_OK; c++) {
        bool is_wanted = gr_step_yields(step, c) && many->columns[c].key < 0;

        for (size_t p = 0; is_wanted && !gr_field_is_readable(&table->fields[c]) && p < many->count; p++) {
            const struct gr_schema *own = &many->parts[p].file->type.schema;

            for (size_t k = 0; k < own->count && err == GRANARY_OK; k++) {
                if (many->parts[p].to[k] == c && !gr_field_is_readable(&own->fields[k])) {
                    err = tile_part(t, i, file, step, &many->parts[p], &refused);
                }
            }
        }
    }
    return err;
}

/* Nobody wants any of the files: the columns of one, without a row. */
static granary_err
leave_no_row(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step, struct gr_tiled *out)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    struct gr_tiled one;
    granary_err err = tile_part(t, i, file, step, &((const struct many *)file->own)->parts[0], &one);

    err = err == GRANARY_OK ? tiled_init(t, out, 1, true) : err;
    if (err == GRANARY_OK) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_int("limit", 0));
        out->rows[0] = 0;
        out->bytes[0] = 1;
        out->pieces[0] = tiling_add(t, i, GR_CHUNK_concat, attrs, one.pieces, 1, 1);
    }
    return err;
}

static granary_err
tile_parts(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step, const bool *chosen,
           struct gr_tiled *out)
{
    const struct many *many = file->own;
    struct many_group small = {0};
    struct pieces group = {0};
    struct pieces all = {0};
    granary_err err = GRANARY_OK;

    for (size_t p = 0; p < many->count && err == GRANARY_OK; p++) {
        const struct many_part *part = &many->parts[p];

        if (chosen[p]) {
            bool joins = many_group_takes(&small, 1, (uint64_t)part->file->file_bytes);

            err = add_part(t, i, file, step, part, joins, &group, &all);
        }
    }
    err = err == GRANARY_OK ? end_group(t, i, &group, &all) : err;
    err = err == GRANARY_OK ? tiled_init(t, out, all.count, true) : err;
    if (err == GRANARY_OK) {
        memcpy(out->pieces, all.pieces, all.count * sizeof *all.pieces);
        memcpy(out->bytes, all.bytes, all.count * sizeof *all.bytes);
        memcpy(out->rows, all.rows, all.count * sizeof *all.rows);
    }
    return err;
}

/* What is left out is told to people; and the step's rows are not to be recalled as all of them. */
static void
tell(struct tiling *t, size_t i, const struct many *many, size_t read, size_t others)
{
    const char *name = t->steps->steps[i].origin->name;

    if (t->left_out.skipped_groups > 0 && t->steps->fired != NULL) {
        gr_buf_addf(t->steps->fired, "  zone-map: '%s' skips %zu of %zu row groups of the files that it reads\n", name,
                    t->left_out.skipped_groups, t->left_out.groups);
    }
    if (t->left_out.bloom_groups > 0 && t->steps->fired != NULL) {
        gr_buf_addf(t->steps->fired, "  bloom: '%s' skips %zu of %zu row groups of the files that it reads\n", name,
                    t->left_out.bloom_groups, t->left_out.groups - t->left_out.skipped_groups);
    }
    if (t->left_out.skipped_rows > 0 && t->steps->fired != NULL) {
        gr_buf_addf(t->steps->fired, "  page-index: '%s' skips %lld of %lld rows of the files that it reads\n", name,
                    (long long)t->left_out.skipped_rows, (long long)t->left_out.rows);
    }
    if (read + others == many->paths.count) {
        return;
    }
    t->steps->steps[i].spare = t->steps->steps[i].wished = false;
    if (t->steps->fired != NULL) {
        gr_buf_addf(t->steps->fired, "  folders: '%s' reads %zu of %zu files\n", t->steps->steps[i].origin->name, read,
                    many->paths.count);
    }
}

granary_err
many_tile(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step, struct gr_tiled *out)
{
    const struct many *many = file->own;
    bool *chosen = tiling_scratch(t, many->count + 1, sizeof *chosen);
    size_t read = 0;
    size_t others = 0; /* are of other parts */
    granary_err err;

    if (chosen == NULL) {
        return tile_no_memory();
    }
    err = check_columns(t, i, file, step);
    if (err != GRANARY_OK) {
        return err;
    }
    choose_parts(t, i, many, chosen);
    t->left_out = (struct left_out){.groups = 0};
    for (size_t p = 0; p < many->count; p++) {
        const struct gr_file *part = many->parts[p].file;

        others += part->is_part && part->from == part->to;
        chosen[p] = chosen[p] && !(part->is_part && part->from == part->to);
        read += chosen[p];
    }
    err = read > 0 ? tile_parts(t, i, file, step, chosen, out) : leave_no_row(t, i, file, step, out);
    if (err == GRANARY_OK) {
        tell(t, i, many, read, others);
        err = tiling_join_small(t, i);
    }
    return err;
}
