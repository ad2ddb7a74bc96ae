/* Sealed tables put and read, as frames. */
#include "mutable/sealed.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/memory/grow.h"
#include "data/arrow/arrow.h"
#include "granary/hold.h"
#include "granary/mutable.h"
#include "mutable/marked.h"
#include "mutable/table.h"
#include "mutable/tensor/shape.h"

enum { SEALED_ID, SEALED_NUMBER, SEALED_ROWS, SEALED_OFFSET, SEALED_COLUMNS };

granary_err
sealed_add(struct sealed_parts *parts, struct sealed_part part)
{
    if (!gr_grow(&parts->part, &parts->room, parts->count, sizeof part)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    parts->part[parts->count++] = part;
    return GRANARY_OK;
}

void
sealed_free(struct sealed_parts *parts)
{
    free(parts->part);
    *parts = (struct sealed_parts){.count = 0};
}

/* ---- put ---- */

/* The memory of its columns. */
struct sealed_columns {
    char *text;
    int32_t *offsets;
    uint64_t *numbers;
    int64_t *rows;
    uint64_t *at;
    granary_id *contained; /* each once */
    size_t contained_count;
};

static void
columns_free(struct sealed_columns *columns)
{
    free(columns->text);
    free(columns->offsets);
    free(columns->numbers);
    free(columns->rows);
    free(columns->at);
    free(columns->contained);
}

static int
by_id(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(granary_id));
}

/* Objects of several parts, which mostly follow one another, are contained once. */
static void
contained_collect(const struct sealed_parts *parts, struct sealed_columns *columns)
{
    granary_id *ids = columns->contained;
    size_t count = 0, once = 0;

    for (size_t i = 0; i < parts->count; i++) {
        if (count == 0 || !gr_id_equal(ids[count - 1], parts->part[i].id)) {
            ids[count++] = parts->part[i].id;
        }
    }
    qsort(ids, count, sizeof *ids, by_id);
    for (size_t i = 0; i < count; i++) {
        if (once == 0 || !gr_id_equal(ids[once - 1], ids[i])) {
            ids[once++] = ids[i];
        }
    }
    columns->contained_count = once;
}

static granary_err
columns_make(const struct sealed_parts *parts, struct sealed_columns *columns)
{
    const size_t count = parts->count + 1;

    *columns = (struct sealed_columns){.text = malloc(count * GRANARY_ID_TEXT + 1),
                                       .offsets = calloc(count, sizeof *columns->offsets),
                                       .numbers = calloc(count, sizeof *columns->numbers),
                                       .rows = calloc(count, sizeof *columns->rows),
                                       .at = calloc(count, sizeof *columns->at),
                                       .contained = calloc(count, sizeof *columns->contained)};
    if (columns->text == NULL || columns->offsets == NULL || columns->numbers == NULL || columns->rows == NULL ||
        columns->at == NULL || columns->contained == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < parts->count; i++) {
        granary_id_format(parts->part[i].id, columns->text + i * GRANARY_ID_TEXT);
        columns->offsets[i + 1] = (int32_t)((i + 1) * GRANARY_ID_TEXT);
        columns->numbers[i] = parts->part[i].number;
        columns->rows[i] = parts->part[i].rows;
        columns->at[i] = parts->part[i].offset;
    }
    contained_collect(parts, columns);
    return GRANARY_OK;
}

granary_err
sealed_put(granary_client *client, granary_id id, const char *mark, const struct sealed_parts *parts, bool counted)
{
    struct sealed_columns columns = {.text = NULL};
    granary_frame *frame = NULL;
    granary_err err = parts->count > INT32_MAX / GRANARY_ID_TEXT
                          ? gr_fail(GRANARY_EFULL, "more parts than a sealed table can have: %zu", parts->count)
                          : columns_make(parts, &columns);

    if (err == GRANARY_OK) {
        const granary_column all[SEALED_COLUMNS] = {
            [SEALED_ID] = {.name = "id", .dtype = GRANARY_STRING, .values = columns.text, .offsets = columns.offsets},
            [SEALED_NUMBER] = {.name = "number", .dtype = GRANARY_UINT64, .values = columns.numbers},
            [SEALED_ROWS] = {.name = "rows", .dtype = GRANARY_INT64, .values = columns.rows},
            [SEALED_OFFSET] = {.name = "offset", .dtype = GRANARY_UINT64, .values = columns.at},
        };
        const granary_object_options options = {
            .contains = columns.contained, .contains_count = columns.contained_count, .counted = counted};

        err = marked_frame(mark, all, SEALED_COLUMNS, (int64_t)parts->count, &frame);
        err = err == GRANARY_OK ? frame_store(client, id, frame, &options) : err;
    }
    columns_free(&columns); /* also what was made before memory was out */
    gr_frame_destroy(frame);
    return err;
}

/* ---- get ---- */

static granary_err
parts_read(const granary_frame *frame, struct sealed_parts *parts)
{
    const granary_column *ids = &frame->columns[SEALED_ID].view;
    const uint64_t *numbers = frame->columns[SEALED_NUMBER].view.values;
    const int64_t *rows = frame->columns[SEALED_ROWS].view.values;
    const uint64_t *offsets = frame->columns[SEALED_OFFSET].view.values;
    granary_err err = GRANARY_OK;

    for (int64_t i = 0; err == GRANARY_OK && i < frame->rows; i++) {
        struct sealed_part part = {.number = numbers[i], .rows = rows[i], .offset = offsets[i]};
        size_t length = 0;
        const char *text = granary_column_text(ids, i, &length);

        err = granary_id_parse(text, length, &part.id);
        err = err == GRANARY_OK ? sealed_add(parts, part) : err;
    }
    return err;
}

static bool
columns_fit(const granary_frame *frame)
{
    static const granary_dtype dtypes[SEALED_COLUMNS] = {GRANARY_STRING, GRANARY_UINT64, GRANARY_INT64, GRANARY_UINT64};
    bool fit = frame->count == SEALED_COLUMNS;

    for (size_t i = 0; fit && i < SEALED_COLUMNS; i++) {
        fit = frame->columns[i].view.dtype == dtypes[i] && frame->columns[i].view.validity == NULL;
    }
    return fit;
}

granary_err
sealed_get(granary_client *client, granary_id id, const char *mark, struct sealed_parts *ret_parts)
{
    struct sealed_parts parts = {.count = 0};
    granary_frame *frame = NULL;
    granary_view view;
    granary_err err = marked_get(client, id, mark, &view, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_frame_check(frame);
    if (err == GRANARY_OK && !columns_fit(frame)) {
        err = gr_fail(GRANARY_ECORRUPT, "the sealed table has other columns than such tables have");
    }
    err = err == GRANARY_OK ? parts_read(frame, &parts) : err;
    gr_frame_destroy(frame);
    granary_object_release(client, &view);
    if (err != GRANARY_OK) {
        sealed_free(&parts);
        return err;
    }
    *ret_parts = parts;
    return GRANARY_OK;
}

bool
sealed_is(granary_client *client, granary_id id)
{
    return marked_is(client, id, SEALED_MARK);
}

granary_err
granary_sealed_parts(granary_client *client, granary_id id, granary_id **ret_ids, size_t *ret_count)
{
    struct sealed_parts parts = {.count = 0};
    granary_err err = sealed_get(client, id, SEALED_MARK, &parts);
    granary_id *ids = NULL;

    if (err == GRANARY_OK) {
        ids = calloc(parts.count + 1, sizeof *ids);
        err = ids == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    } else if (err == GRANARY_ETYPE) {
        err = gr_fail(GRANARY_ETYPE, "the object is no sealed table");
    }
    for (size_t i = 0; err == GRANARY_OK && i < parts.count; i++) {
        ids[i] = parts.part[i].id;
    }
    if (err == GRANARY_OK) {
        *ret_ids = ids;
        *ret_count = parts.count;
    }
    sealed_free(&parts);
    return err;
}

/* ---- reading it ---- */

granary_err
sealed_learn_rows(struct index *index, const struct sealed_part *part, uint64_t begin, bool is_full)
{
    const uint64_t end = begin + (uint64_t)part->rows;

    if (part->rows < 0 || begin > UINT32_MAX || end > UINT32_MAX) {
        return gr_fail(GRANARY_ECORRUPT, "a part of %lld rows", (long long)part->rows);
    }
    return index_add_chunk(index, (struct index_chunk){.object = part->id,
                                                       .first = part->number,
                                                       .lane = INDEX_NO_LANE,
                                                       .number = (uint32_t)index->count,
                                                       .capacity = (uint32_t)end,
                                                       .begin = (uint32_t)begin,
                                                       .end = (uint32_t)end,
                                                       .is_full = is_full,
                                                       .earliest = INT64_MIN,
                                                       .latest = INT64_MIN});
}

granary_err
sealed_learn_tile(struct index *index, const struct sealed_part *part)
{
    return part->offset % GR_NOTE_ALIGN != 0
               ? gr_fail(GRANARY_ECORRUPT, "values of a chunk begin at byte %llu", (unsigned long long)part->offset)
               : index_add_tile(index, part->number, part->id, part->offset);
}

/* The columns of a table are those of its first part. */
static granary_err
schema_of_part(granary_mutable *table, granary_id part)
{
    granary_frame *frame = NULL;
    granary_err err = granary_object_get(table->client, part, 0, &table->view);

    err = err == GRANARY_OK ? granary_frame_open(&table->view, &frame) : err;
    if (err == GRANARY_OK) {
        err = gr_frame_slice(frame, 0, 0, &table->schema);
        granary_frame_close(frame);
    }
    return err;
}

static granary_err
open_frame(granary_mutable *table, const struct sealed_parts *parts)
{
    granary_err err = parts->count == 0 ? gr_fail(GRANARY_ECORRUPT, "the sealed table has no parts")
                                        : schema_of_part(table, parts->part[0].id);

    for (size_t i = 0; err == GRANARY_OK && i < parts->count; i++) {
        err = sealed_learn_rows(&table->index, &parts->part[i], 0, true);
    }
    return err;
}

static granary_err
open_tensor(granary_mutable *table, const struct sealed_parts *parts)
{
    granary_err err = marked_get(table->client, parts->part[0].id, SEALED_TENSOR_MARK, &table->view, &table->schema);

    err = err == GRANARY_OK ? table_set_shape(table) : err;
    for (size_t i = 1; err == GRANARY_OK && i < parts->count; i++) {
        err = sealed_learn_tile(&table->index, &parts->part[i]);
    }
    return err;
}

static granary_err
sealed_open_as(granary_client *client, const char *name, granary_id id, granary_mutable **ret_table)
{
    struct sealed_parts parts = {.count = 0};
    granary_mutable *table = NULL;
    granary_err err = table_new(client, name, id, &table);

    err = err == GRANARY_OK ? sealed_get(client, id, SEALED_MARK, &parts) : err;
    if (err == GRANARY_ETYPE) {
        err = gr_fail(GRANARY_ETYPE, "the object is no sealed table");
    }
    if (err == GRANARY_OK) {
        err = parts.count > 0 && parts.part[0].number == SEALED_SHAPE ? open_tensor(table, &parts)
                                                                      : open_frame(table, &parts);
    }
    sealed_free(&parts);
    if (err != GRANARY_OK) {
        granary_mutable_close(table);
        return err;
    }
    *ret_table = table;
    return GRANARY_OK;
}

granary_err
granary_sealed_open(granary_client *client, granary_id id, granary_mutable **ret_table)
{
    char text[GRANARY_ID_TEXT + 1];
    granary_err err = gr_client_check(client);

    granary_id_format(id, text);
    err = err == GRANARY_OK ? sealed_open_as(client, text, id, ret_table) : err;
    return err == GRANARY_OK ? err : gr_fail_in(err, "sealed table '%s'", text);
}

granary_err
granary_table_open(granary_client *client, const char *name, granary_mutable **ret_table)
{
    granary_err err = granary_mutable_open(client, name, ret_table);
    granary_id id;

    if (err != GRANARY_ESEALED) {
        return err;
    }
    err = granary_name_get(client, name, &id);
    err = err == GRANARY_OK ? sealed_open_as(client, name, id, ret_table) : err;
    return err == GRANARY_OK ? err : gr_fail_in(err, "table '%s'", name);
}
