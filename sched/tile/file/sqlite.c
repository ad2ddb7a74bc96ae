/*
 * SQLite databases. An executor looks at the table: its columns, their kinds, and how far rowids go. By these it is cut.
 * The scheduler never opens one: what is in it may be hostile, or locked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "tile/file/records.h"

#define KIND_BLOB 32768
#define CUTS_MOST 4096

/* gr_file.own */
struct database {
    Granary__SqliteTable *table; /* NULL: not told yet */
};

static granary_err
sqlite_look(struct gr_file *file, int fd)
{
    (void)fd;
    file->own = calloc(1, sizeof(struct database));
    if (file->own == NULL) {
        return tile_no_memory();
    }
    file->stage = "being looked at";
    file->asks = true;
    file->jobs = file->waiting = 1;
    return GRANARY_OK;
}

static void
sqlite_start(struct gr_file *file, uint32_t step, struct gr_chunks *chunks)
{
    const char *table = GR_NODE_PARAMS(read_sqlite, file->node)->table;
    struct gr_chunk_spec spec = {.op = GR_CHUNK_sqlite_look, .step = step, .shared = gr_chunks_attrs(chunks)};

    gr_attrs_add(chunks, spec.shared, gr_attr_new_string("path", file->path));
    if (table != NULL) {
        gr_attrs_add(chunks, spec.shared, gr_attr_new_string("table", table));
    }
    (void)gr_chunks_add(chunks, &spec);
}

/* A column of BLOBs has no dtype, unless the user says one. */
static granary_err
add_columns(struct gr_file *file, const Granary__SqliteTable *table)
{
    granary_err err = GRANARY_OK;

    if (table->n_names == 0 || table->n_names > RECORDS_COLUMNS_MAX) {
        return gr_fail(GRANARY_EINVAL, "node '%s' (%s): %s: table '%s' has %zu columns; there can be %d",
                       file->node->name, file->node->op, file->name, table->table, table->n_names, RECORDS_COLUMNS_MAX);
    }
    for (size_t i = 0; i < table->n_names && err == GRANARY_OK; i++) {
        char *name = strndup((const char *)table->names[i].data, table->names[i].len);

        err = name == NULL ? tile_no_memory() : records_add_column(file, name, table->kinds[i]);
        if (err == GRANARY_OK && (table->kinds[i] & KIND_BLOB) != 0) {
            file->type.schema.fields[i].dtype = GR_DTYPE_OTHER;
        }
        free(name);
    }
    return err;
}

static granary_err
sqlite_feed(struct gr_file *file, size_t job, const ProtobufCBinaryData *answer)
{
    struct database *database = file->own;
    granary_err err;

    (void)job;
    if (database->table != NULL) {
        return GRANARY_OK;
    }
    errno = 0;
    database->table = granary__sqlite_table__unpack(NULL, answer->len, answer->data);
    if (database->table == NULL) {
        return records_unreadable("sqlite_look");
    }
    if (database->table->n_names != database->table->n_kinds) {
        return gr_fail(GRANARY_EPROTO, "sqlite_look: %zu names of %zu kinds", database->table->n_names,
                       database->table->n_kinds);
    }
    file->waiting = 0;
    err = add_columns(file, database->table);
    return err == GRANARY_OK ? records_settle(file) : err;
}

static void
sqlite_free(struct gr_file *file)
{
    struct database *database = file->own;

    if (database->table != NULL) {
        granary__sqlite_table__free_unpacked(database->table, NULL);
    }
    free(database);
}

/* ---- chunks ---- */

static granary_err
check_columns(const struct gr_file *file, const struct gr_step *step)
{
    const struct gr_schema *schema = &step->type->schema;

    for (size_t c = 0; c < schema->count; c++) {
        if (gr_step_yields(step, c) && !gr_field_is_readable(&schema->fields[c])) {
            return gr_fail(GRANARY_EUNSUPPORTED,
                           "%s: column '%s' has BLOBs: select others, or say that they are text, by `dtypes`",
                           file->name, schema->fields[c].name);
        }
    }
    return GRANARY_OK;
}

/* The rowids that are read, of a table that has some. In a part without any the last one comes before the first. */
struct range {
    bool ranged;
    int64_t least;
    int64_t most;
};

static struct range
range_of(const struct gr_file *file, const Granary__SqliteTable *table)
{
    struct range range = {.ranged = table->ranged, .least = table->least, .most = table->most};
    uint64_t span = (uint64_t)table->most - (uint64_t)table->least;
    uint64_t count = span < UINT64_MAX ? span + 1 : span; /* else the very last one goes with that before it */
    uint64_t first, end;

    if (!range.ranged || !file->is_part || table->most < table->least) {
        return range;
    }
    gr_file_part(file, count, &first, &end);
    if (first == end) {
        return (struct range){.ranged = true, .least = 1, .most = 0};
    }
    range.least = (int64_t)((uint64_t)table->least + first);
    range.most = end == count ? table->most : (int64_t)((uint64_t)table->least + end - 1);
    return range;
}

/* In how many pieces; their rowids are as many as those of any other. */
static size_t
count_cuts(const struct gr_file *file, const struct range *range)
{
    uint64_t span = range->ranged && range->most >= range->least ? (uint64_t)range->most - (uint64_t)range->least : 0;
    int64_t bytes = file->to - file->from;
    uint64_t cuts = (uint64_t)(bytes / (file->block_bytes > 0 ? file->block_bytes : 1)) + 1;

    cuts = cuts > CUTS_MOST ? CUTS_MOST : cuts;
    return span / 2 < cuts ? 1 : (size_t)cuts;
}

static int64_t
begin_of(const struct range *range, size_t cut, size_t cuts)
{
    gr_int128 span = (gr_int128)range->most - range->least;

    return (int64_t)(range->least + (span + 1) * (gr_int128)cut / (gr_int128)cuts);
}

static granary_err
sqlite_tile(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step, struct gr_tiled *out)
{
    const Granary__SqliteTable *table = ((const struct database *)file->own)->table;
    struct gr_chunk_spec spec = {
        .op = GR_CHUNK_sqlite_read, .step = (uint32_t)i, .shared = file_path_attrs(t, file), .outputs = 1};
    const struct range range = range_of(file, table);
    size_t cuts = count_cuts(file, &range);
    granary_err err = check_columns(file, step);

    err = err == GRANARY_OK ? tiled_init(t, out, cuts, true) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    gr_attrs_add(t->chunks, spec.shared, gr_attr_new_string("table", table->table));
    gr_attrs_add(t->chunks, spec.shared, gr_attr_new_int("stamp", table->stamp));
    tiling_add_dtypes(t, step, spec.shared);
    for (size_t k = 0; k < cuts; k++) {
        spec.own = gr_chunks_attrs(t->chunks);
        if (range.ranged) {
            gr_attrs_add(t->chunks, spec.own, gr_attr_new_int("from", begin_of(&range, k, cuts)));
            gr_attrs_add(t->chunks, spec.own,
                         gr_attr_new_int("to", k + 1 == cuts ? range.most : begin_of(&range, k + 1, cuts) - 1));
        }
        spec.bytes = (uint64_t)(file->to - file->from) / cuts + 1;
        out->bytes[k] = spec.bytes;
        out->pieces[k] = gr_chunks_add(t->chunks, &spec);
    }
    return range.ranged || gr_file_is_read(file) ? GRANARY_OK : tiling_keep_rows(t, i, out, 0, 0);
}

const struct gr_source gr_source_sqlite = {
    .look = sqlite_look, .tile = sqlite_tile, .start = sqlite_start, .feed = sqlite_feed, .free_own = sqlite_free};
