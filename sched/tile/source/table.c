/* What is known of a table's objects, and operators that ask for the rest. */
#include "tile/source/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"

#define LOOK_AT_ONCE 64

static granary_err
no_memory(const Granary__Node *node)
{
    return gr_fail(GRANARY_ENOMEM, "node '%s' (table): out of memory", node->name);
}

/* ---- what the objects are ---- */

static granary_err
first_schema(struct gr_table *table, const Granary__FrameInfo *info)
{
    granary_err err = GRANARY_OK;

    for (size_t c = 0; c < info->n_columns && err == GRANARY_OK; c++) {
        err = gr_schema_add(&table->schema, info->columns[c]->name, (granary_dtype)info->columns[c]->dtype);
    }
    return err;
}

static granary_err
check_columns(const struct gr_table *table, size_t position, const Granary__FrameInfo *info)
{
    const struct gr_schema *schema = &table->schema;
    const char *name = table->node->name;
    const char *id = table->ids[position];

    if (info->is_tensor || info->rows < 0) {
        return gr_fail(GRANARY_ETYPE, "node '%s' (table): object %s is no frame", name, id);
    }
    if (info->n_columns != schema->count) {
        return gr_fail(GRANARY_ETYPE, "node '%s' (table): object %s has %zu columns, the first one has %zu", name, id,
                       info->n_columns, schema->count);
    }
    for (size_t c = 0; c < schema->count; c++) {
        const Granary__ColumnInfo *column = info->columns[c];

        if (strcmp(column->name, schema->fields[c].name) != 0 ||
            (granary_dtype)column->dtype != schema->fields[c].dtype) {
            return gr_fail(GRANARY_ETYPE,
                           "node '%s' (table): object %s has column '%s' of %s where the first one has '%s' of %s",
                           name, id, column->name, granary_dtype_name((granary_dtype)column->dtype),
                           schema->fields[c].name, granary_dtype_name(schema->fields[c].dtype));
        }
    }
    return GRANARY_OK;
}

/* All is known: do they fit together? */
static granary_err
settle(struct gr_table *table)
{
    granary_err err = first_schema(table, table->infos[0]);

    for (size_t i = 0; i < table->count && err == GRANARY_OK; i++) {
        err = check_columns(table, i, table->infos[i]);
    }
    return err;
}

/* What was told of the objects from `first` on. */
static granary_err
take_infos(struct gr_table *table, size_t first, size_t count, const ProtobufCBinaryData *bytes)
{
    Granary__FrameInfos *infos;
    Granary__FrameInfos **more;

    errno = 0;
    infos = granary__frame_infos__unpack(NULL, bytes->len, bytes->data);
    if (infos == NULL && errno == ENOMEM) {
        return no_memory(table->node);
    }
    if (infos == NULL || infos->n_frames != count) {
        granary__frame_infos__free_unpacked(infos, NULL);
        return gr_fail(GRANARY_EPROTO, "node '%s' (table): info: an answer that is none", table->node->name);
    }
    more = realloc(table->answers, (table->answer_count + 1) * sizeof(Granary__FrameInfos *));
    if (more == NULL) {
        granary__frame_infos__free_unpacked(infos, NULL);
        return no_memory(table->node);
    }
    table->answers = more;
    table->answers[table->answer_count++] = infos;
    for (size_t i = 0; i < count; i++) {
        table->infos[first + i] = infos->frames[i];
    }
    table->unknown -= count;
    if (table->unknown == 0 && table->recalled) { /* what does not fit is of no use, and no error */
        table->gone = settle(table) != GRANARY_OK;
        return GRANARY_OK;
    }
    return table->unknown == 0 ? settle(table) : GRANARY_OK;
}

/* ---- creation ---- */

static granary_err
take_bound(struct gr_table *table, const Granary__StoredTable *bound)
{
    if (bound->snapshot.len == sizeof table->snapshot.bytes) {
        memcpy(table->snapshot.bytes, bound->snapshot.data, sizeof table->snapshot.bytes);
    }
    for (size_t i = 0; i < table->count; i++) {
        granary_id id = {{0}};

        if (bound->ids[i].len != sizeof id.bytes) {
            return gr_fail(GRANARY_EPROTO, "node '%s' (table): an id that is none", table->node->name);
        }
        memcpy(id.bytes, bound->ids[i].data, sizeof id.bytes);
        granary_id_format(id, table->ids[i]);
    }
    return bound->infos.len > 0 ? take_infos(table, 0, table->count, &bound->infos) : GRANARY_OK;
}

/* Room for so many objects. */
static granary_err
expect(struct gr_table *table, size_t count)
{
    table->ids = calloc(count, sizeof *table->ids);
    table->infos = calloc(count, sizeof(const Granary__FrameInfo *));
    if (table->ids == NULL || table->infos == NULL) {
        return no_memory(table->node);
    }
    table->count = table->unknown = count;
    return GRANARY_OK;
}

/* What a snapshot tells: ids, one behind the other. */
static granary_err
take_snapshot(struct gr_table *table, const ProtobufCBinaryData *answer)
{
    const size_t count = answer->len / GRANARY_ID_BYTES;
    granary_err err;

    if (count == 0 || answer->len % GRANARY_ID_BYTES != 0) {
        return gr_fail(GRANARY_EPROTO, "node '%s' (table): snapshot: an answer that is none", table->node->name);
    }
    err = expect(table, count);
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        granary_id id;

        memcpy(id.bytes, answer->data + i * GRANARY_ID_BYTES, GRANARY_ID_BYTES);
        granary_id_format(id, table->ids[i]);
    }
    return err;
}

static granary_err
take_ids(struct gr_table *table, const Granary__Attr *ids)
{
    for (size_t i = 0; i < table->count; i++) {
        granary_id id;

        if (granary_id_parse(ids->strings[i], strlen(ids->strings[i]), &id) != GRANARY_OK || gr_id_is_zero(id)) {
            return gr_fail(GRANARY_EINVAL, "node '%s' (table): parameter 'ids': '%.100s' is not a whole id",
                           table->node->name, ids->strings[i]);
        }
        granary_id_format(id, table->ids[i]);
    }
    return GRANARY_OK;
}

granary_err
gr_table_create(const Granary__Node *node, const Granary__StoredTable *bound, struct gr_table **ret_table)
{
    const Granary__Attr *ids = gr_attr_find(node->attrs, node->n_attrs, "ids");
    const bool changes = gr_attr_find(node->attrs, node->n_attrs, "time") != NULL;
    size_t count = bound != NULL ? bound->n_ids : ids != NULL ? ids->n_strings : 0;
    struct gr_table *table;
    granary_err err = GRANARY_OK;

    if (count == 0 && !changes) {
        return gr_fail(GRANARY_EINVAL, "node '%s' (table): nobody knows what its name stands for", node->name);
    }
    table = calloc(1, sizeof *table);
    if (table == NULL) {
        return no_memory(node);
    }
    table->node = node;
    table->unknown = 1;
    err = count > 0 ? expect(table, count) : GRANARY_OK;
    if (err == GRANARY_OK) {
        err = bound != NULL ? take_bound(table, bound) : count > 0 ? take_ids(table, ids) : GRANARY_OK;
    }
    if (err != GRANARY_OK) {
        gr_table_destroy(table);
        return err;
    }
    *ret_table = table;
    return GRANARY_OK;
}

granary_err
gr_table_recall(const Granary__Node *node, const granary_id *ids, size_t count, struct gr_table **ret_table)
{
    struct gr_table *table = calloc(1, sizeof *table);
    granary_err err;

    if (table == NULL) {
        return no_memory(node);
    }
    table->node = node;
    table->recalled = true;
    err = expect(table, count);
    if (err != GRANARY_OK) {
        gr_table_destroy(table);
        return err;
    }
    for (size_t i = 0; i < count; i++) {
        granary_id_format(ids[i], table->ids[i]);
    }
    *ret_table = table;
    return GRANARY_OK;
}

/* What is told of a column that is not there. */
static Granary__ColumnInfo *
no_column(const struct gr_field *field)
{
    Granary__ColumnInfo *column = malloc(sizeof *column);

    if (column != NULL) {
        granary__column_info__init(column);
        column->dtype = field->dtype;
        column->name = strdup(field->name);
        if (column->name == NULL) {
            free(column);
            column = NULL;
        }
    }
    return column;
}

/* Columns are moved to where the schema has them. */
static granary_err
spread_info(Granary__FrameInfo *info, const struct gr_schema *schema)
{
    Granary__ColumnInfo **columns = calloc(schema->count + 1, sizeof(Granary__ColumnInfo *));
    bool good = columns != NULL;
    size_t taken = 0;

    for (size_t c = 0; c < schema->count && good; c++) {
        if (taken < info->n_columns && strcmp(info->columns[taken]->name, schema->fields[c].name) == 0) {
            columns[c] = info->columns[taken++];
        } else {
            columns[c] = no_column(&schema->fields[c]);
            good = columns[c] != NULL;
        }
    }
    if (!good || taken < info->n_columns) { /* the latter cannot be: it was made of such a schema */
        for (size_t c = 0; columns != NULL && c < schema->count; c++) {
            bool theirs = false;

            for (size_t k = 0; k < info->n_columns; k++) {
                theirs = theirs || info->columns[k] == columns[c];
            }
            if (!theirs && columns[c] != NULL) {
                granary__column_info__free_unpacked(columns[c], NULL);
            }
        }
        free(columns);
        return gr_fail(good ? GRANARY_EFAILED : GRANARY_ENOMEM, "columns of what was recalled are not in their order");
    }
    free(info->columns);
    info->columns = columns;
    info->n_columns = schema->count;
    return GRANARY_OK;
}

granary_err
gr_table_spread(struct gr_table *table, const struct gr_schema *schema)
{
    granary_err err = GRANARY_OK;

    for (size_t a = 0; a < table->answer_count; a++) {
        for (size_t i = 0; i < table->answers[a]->n_frames && err == GRANARY_OK; i++) {
            err = spread_info(table->answers[a]->frames[i], schema);
        }
    }
    gr_schema_free(&table->schema);
    table->schema = (struct gr_schema){0};
    return err == GRANARY_OK ? gr_schema_copy(schema, &table->schema) : err;
}

void
gr_table_destroy(struct gr_table *table)
{
    if (table == NULL) {
        return;
    }
    for (size_t a = 0; a < table->answer_count; a++) {
        granary__frame_infos__free_unpacked(table->answers[a], NULL);
    }
    free(table->answers);
    free(table->infos);
    free(table->ids);
    gr_schema_free(&table->schema);
    free(table);
}

/* ---- operators ---- */

struct gr_piece
gr_table_objects(const struct gr_table *table, uint32_t step, const bool *chosen, struct gr_chunks *chunks)
{
    struct gr_chunk_spec spec = {.op = GR_CHUNK_object, .step = step, .shared = gr_chunks_attrs(chunks)};
    char **texts = calloc(table->count, sizeof *texts);

    for (size_t i = 0; texts != NULL && i < table->count; i++) {
        if (chosen == NULL || chosen[i]) {
            texts[spec.outputs++] = table->ids[i];
        }
    }
    gr_attrs_add(chunks, spec.shared, texts == NULL ? NULL : gr_attr_new_strings("ids", texts, spec.outputs));
    free(texts);
    return gr_chunks_add(chunks, &spec);
}

static size_t
job_size(const struct gr_table *table, size_t job)
{
    size_t left = table->count - job * LOOK_AT_ONCE;

    return left < LOOK_AT_ONCE ? left : LOOK_AT_ONCE;
}

static void
start_snapshot(struct gr_table *table, uint32_t step, uint64_t plan, struct gr_chunks *chunks)
{
    const Granary__Node *node = table->node;
    const char *version = gr_attr_string(node->attrs, node->n_attrs, "version", NULL);
    struct gr_chunk_spec spec = {.op = GR_CHUNK_snapshot, .step = step, .shared = gr_chunks_attrs(chunks)};
    char text[GRANARY_ID_TEXT + 1];

    if (gr_id_is_zero(table->snapshot)) {
        table->snapshot = gr_id_of_chunk(plan, chunks->count, 0);
        table->makes_snapshot = true;
    }
    granary_id_format(table->snapshot, text);
    gr_attrs_add(chunks, spec.shared,
                 gr_attr_new_string("name", gr_attr_string(node->attrs, node->n_attrs, "name", "")));
    gr_attrs_add(chunks, spec.shared, gr_attr_new_int("time", gr_attr_int(node->attrs, node->n_attrs, "time", 0)));
    gr_attrs_add(chunks, spec.shared, gr_attr_new_string("snapshot", text));
    if (version != NULL) {
        gr_attrs_add(chunks, spec.shared, gr_attr_new_string("version", version));
    }
    table->first_op = chunks->count;
    table->jobs = 1;
    (void)gr_chunks_add(chunks, &spec);
}

void
gr_table_start(struct gr_table *table, uint32_t step, uint64_t plan, struct gr_chunks *chunks)
{
    bool anyone = !gr_id_is_zero(table->snapshot) || /* may have put them */
                  (!table->recalled && gr_attr_find(table->node->attrs, table->node->n_attrs, "ids") != NULL);
    struct gr_piece object;
    gr_attrs check;

    if (table->count == 0) {
        start_snapshot(table, step, plan, chunks);
        return;
    }
    object = gr_table_objects(table, step, NULL, chunks);
    check = anyone || table->recalled ? gr_chunks_attrs(chunks) : 0;
    if (table->recalled) {
        gr_attrs_add(chunks, check, gr_attr_new_bool("absent", true));
    } else if (anyone) {
        gr_attrs_add(chunks, check, gr_attr_new_bool("check", true));
    }
    table->first_op = chunks->count;
    table->jobs = (table->count + LOOK_AT_ONCE - 1) / LOOK_AT_ONCE;
    for (size_t job = 0; job < table->jobs; job++) {
        struct gr_piece pieces[LOOK_AT_ONCE];
        struct gr_chunk_spec spec = {
            .op = GR_CHUNK_info, .step = step, .shared = check, .inputs = pieces, .input_count = job_size(table, job)};

        for (size_t i = 0; i < spec.input_count; i++) {
            pieces[i] = (struct gr_piece){.op = object.op, .output = (uint32_t)(job * LOOK_AT_ONCE + i)};
        }
        (void)gr_chunks_add(chunks, &spec);
    }
}

granary_err
gr_table_feed(struct gr_table *table, size_t job, const ProtobufCBinaryData *answer)
{
    if (job >= table->jobs) {
        return gr_fail(GRANARY_EPROTO, "node '%s' (table): an answer nobody asked for", table->node->name);
    }
    if (table->count == 0) {
        return take_snapshot(table, answer);
    }
    return table->infos[job * LOOK_AT_ONCE] != NULL
               ? GRANARY_OK
               : take_infos(table, job * LOOK_AT_ONCE, job_size(table, job), answer);
}

granary_err
gr_table_pack(const struct gr_table *table, struct gr_buf *out)
{
    Granary__FrameInfos all = GRANARY__FRAME_INFOS__INIT;
    void *room;

    all.frames = (Granary__FrameInfo **)(uintptr_t)table->infos; /* packing only reads them */
    all.n_frames = table->count;
    room = gr_buf_grow(out, granary__frame_infos__get_packed_size(&all));
    if (room == NULL) {
        return no_memory(table->node);
    }
    (void)granary__frame_infos__pack(&all, room);
    return GRANARY_OK;
}
