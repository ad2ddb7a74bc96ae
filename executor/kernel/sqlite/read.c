/* sqlite_read: rows of a table, a block after the other, as one frame. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/format.h"
#include "data/value/utf8.h"
#include "graph/schema.h"
#include "kernel/core/frame_call.h"
#include "kernel/csv/csv_builder.h"
#include "sqlite/sqlite.h"

#define BLOCK      65536
#define TEXT_GUESS 16 /* bytes of a text, about */
#define MARGIN     16 /* that may be read around a text */

struct reading {
    const struct gr_chunk_sqlite_read *params;
    struct gr_sqlite *database;
    struct csv_builder *builders;
    size_t count;
    int64_t rows; /* of the block */
    granary_frame **frames;
    size_t frame_count;
    size_t frame_room;
};

/* ---- values ---- */

static const char *const kinds[] = {[GR_SQLITE_INT64] = "an integer",
                                    [GR_SQLITE_FLOAT64] = "a real number",
                                    [GR_SQLITE_STRING] = "a text",
                                    [GR_SQLITE_BLOB] = "a BLOB"};

static granary_err
does_not_fit(const struct reading *r, const struct csv_builder *builder, const struct gr_sqlite_value *value)
{
    char place[40];
    char shown[64] = "";
    size_t size = value->size < 40 ? value->size : 40;

    if (value->kind == GR_SQLITE_INT64) {
        (void)snprintf(shown, sizeof shown, " %" PRId64, value->integer);
    } else if (value->kind == GR_SQLITE_FLOAT64) {
        (void)snprintf(shown, sizeof shown, " %g", value->real);
    } else if (value->kind == GR_SQLITE_STRING && utf8_first_invalid(value->bytes, size) == NULL) {
        (void)snprintf(shown, sizeof shown, " '%.*s'", (int)size, value->bytes);
    }
    return gr_fail(GRANARY_EINVAL, "%s: table '%s', %s: column '%s' is %s, but the value is %s%s: %s", r->params->path,
                   r->params->table, gr_sqlite_place(r->database, place), builder->name,
                   granary_dtype_name(builder->dtype), kinds[value->kind], shown,
                   value->kind == GR_SQLITE_BLOB ? "leave the column out" : "`dtypes` can read the column as string");
}

/* As text that any dtype is parsed from. Returns its size. */
static size_t
print(const struct gr_sqlite_value *value, char text[64])
{
    struct gr_buf out = {0};
    size_t size = 0;

    memset(text, 0, 64);
    if (value->kind == GR_SQLITE_INT64) {
        size = (size_t)snprintf(text + MARGIN, 32, "%" PRId64, value->integer);
    } else {
        format_real_short(value->real, &out);
        size = gr_buf_ok(&out) && out.size <= 32 ? out.size : 0;
        memcpy(text + MARGIN, size > 0 ? out.bytes : "", size);
    }
    gr_buf_free(&out);
    return size;
}

static granary_err
put_text(const struct reading *r, struct csv_builder *builder, const struct gr_sqlite_value *value, const char *bytes,
         size_t size)
{
    const struct csv_string string = {.bytes = bytes, .size = size};

    if (builder->strings != NULL) {
        return utf8_first_invalid(bytes, size) == NULL ? csv_strings_add(builder->strings, &string, 1)
                                                       : does_not_fit(r, builder, value);
    }
    return csv_put_value(builder, r->rows, bytes, size) ? GRANARY_OK : does_not_fit(r, builder, value);
}

static granary_err
put(const struct reading *r, struct csv_builder *builder, const struct gr_sqlite_value *value)
{
    char text[64];

    switch (value->kind) {
    case GR_SQLITE_NULL:
        return csv_put_missing(builder, r->rows);
    case GR_SQLITE_STRING:
    case GR_SQLITE_BLOB: /* told to be text */
        return put_text(r, builder, value, value->bytes, value->size);
    default:
        break;
    }
    if (builder->dtype == GRANARY_INT64 && value->kind == GR_SQLITE_INT64) {
        ((int64_t *)builder->values)[r->rows] = value->integer;
        return GRANARY_OK;
    }
    if (builder->dtype == GRANARY_FLOAT64) {
        ((double *)builder->values)[r->rows] = value->kind == GR_SQLITE_INT64 ? (double)value->integer : value->real;
        return GRANARY_OK;
    }
    if (builder->dtype == GRANARY_BOOL) {
        if (value->kind != GR_SQLITE_INT64 || (value->integer != 0 && value->integer != 1)) {
            return does_not_fit(r, builder, value);
        }
        if (value->integer == 1) {
            gr_bit_set(builder->values, r->rows);
        }
        return GRANARY_OK;
    }
    return put_text(r, builder, value, text + MARGIN, print(value, text));
}

/* ---- blocks ---- */

static void
block_fini(struct reading *r)
{
    for (size_t i = 0; r->builders != NULL && i < r->count; i++) {
        csv_builder_fini(&r->builders[i]);
    }
    free(r->builders);
    r->builders = NULL;
}

static granary_err
block_begin(struct reading *r)
{
    granary_err err;

    r->rows = 0;
    r->builders = calloc(r->count + 1, sizeof *r->builders);
    err = r->builders == NULL ? gr_no_memory("sqlite_read") : GRANARY_OK;
    for (size_t i = 0; i < r->count && err == GRANARY_OK; i++) {
        struct csv_builder *builder = &r->builders[i];

        builder->name = r->params->columns->strings[i];
        err = gr_csv_dtype_parse(r->params->dtypes->strings[i], &builder->dtype)
                  ? csv_builder_init(builder, BLOCK, BLOCK * TEXT_GUESS)
                  : gr_fail(GRANARY_EINVAL, "sqlite_read: no dtype '%s'", r->params->dtypes->strings[i]);
    }
    return err;
}

static granary_err
block_end(struct reading *r)
{
    granary_err err = GRANARY_OK;

    if (r->frame_count == r->frame_room) {
        size_t room = 2 * r->frame_room + 8;
        granary_frame **frames = reallocarray(r->frames, room, sizeof(granary_frame *));

        if (frames == NULL) {
            return gr_no_memory("sqlite_read");
        }
        r->frames = frames;
        r->frame_room = room;
    }
    err = csv_builders_finish(r->builders, r->count, r->rows, &r->frames[r->frame_count]);
    r->frame_count += err == GRANARY_OK;
    block_fini(r);
    return err;
}

static granary_err
read_rows(struct reading *r)
{
    bool row = true;
    granary_err err = block_begin(r);

    while (err == GRANARY_OK && (err = gr_sqlite_next(r->database, &row)) == GRANARY_OK && row) {
        for (size_t i = 0; i < r->count && err == GRANARY_OK; i++) {
            const struct gr_sqlite_value value = gr_sqlite_value(r->database, i);

            err = put(r, &r->builders[i], &value);
        }
        if (err == GRANARY_OK && ++r->rows == BLOCK) {
            err = block_end(r);
            err = err == GRANARY_OK ? block_begin(r) : err;
        }
    }
    return err == GRANARY_OK ? block_end(r) : err;
}

/* ---- the call ---- */

/* Nothing was changed: what was read is what was looked at. Whoever reads keeps writers from changing what is read. */
static granary_err
check_stamp(const struct gr_chunk_sqlite_read *params)
{
    uint64_t stamp = 0;
    granary_err err = gr_sqlite_stamp(params->path, &stamp);

    return err != GRANARY_OK || (int64_t)stamp == params->stamp
               ? err
               : gr_fail(GRANARY_EIO, "%s: was changed since the graph was submitted; submit again", params->path);
}

granary_err
kernel_sqlite_read(struct gr_kernel_call *call, const struct gr_chunk_sqlite_read *params)
{
    struct reading r = {.params = params, .count = params->columns->n_strings};
    struct gr_sqlite_range range = {.ranged = params->from != NULL && params->to != NULL};
    granary_frame *frame = NULL;
    char *table = NULL;
    granary_err err = params->dtypes->n_strings == r.count
                          ? check_stamp(params)
                          : gr_fail(GRANARY_EINVAL, "sqlite_read: columns and dtypes do not fit");

    if (range.ranged) {
        range.from = *params->from;
        range.to = *params->to;
    }
    err = err == GRANARY_OK ? gr_sqlite_open(params->path, &r.database) : err;
    err = err == GRANARY_OK ? gr_sqlite_find(r.database, params->table, &table) : err;
    err = err == GRANARY_OK ? gr_sqlite_begin(r.database, table, params->columns->strings, r.count, &range) : err;
    err = err == GRANARY_OK ? read_rows(&r) : err;
    err = err == GRANARY_OK ? check_stamp(params) : err;
    block_fini(&r);
    gr_sqlite_close(r.database);
    if (err == GRANARY_OK && r.frame_count > 1) {
        err = gr_frame_concat((const granary_frame *const *)r.frames, r.frame_count, &frame);
    } else if (err == GRANARY_OK) {
        frame = r.frames[0];
        r.frames[0] = NULL;
    }
    for (size_t i = 0; i < r.frame_count; i++) {
        gr_frame_destroy(r.frames[i]);
    }
    free(r.frames);
    free(table);
    return call_yield(call, 0, frame, err);
}
