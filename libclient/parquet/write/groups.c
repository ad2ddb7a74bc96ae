/* Row groups of a frame's rows, and the note behind them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "parquet/write/note.h"
#include "parquet/write/private.h"

#define NAME_MOST 4096 /* as read_parquet has it */

static granary_err
check_columns(const granary_column *const *columns, size_t count)
{
    struct put_type type;

    if (count == 0) {
        return gr_fail(GRANARY_EINVAL, "there are no columns, and a Parquet file has at least one");
    }
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(columns[i]->name);
        granary_err err = put_type_of(columns[i]->dtype, &type);

        if (err != GRANARY_OK) {
            return gr_fail_in(err, "column '%s'", columns[i]->name);
        }
        if (size == 0) {
            return gr_fail(GRANARY_EINVAL, "column %zu has no name, which it needs in a Parquet file: rename it",
                           i + 1);
        }
        if (size > NAME_MOST) {
            return gr_fail(GRANARY_EINVAL, "column '%.40s...' has a name of more than %d bytes: rename it",
                           columns[i]->name, NAME_MOST);
        }
    }
    return GRANARY_OK;
}

/* Which columns are decimals of 16 bytes. */
static void
choose_wide(const granary_column *const *columns, size_t count, int64_t from, int64_t rows,
            const struct gr_parquet_style *style, bool *wide)
{
    for (size_t i = 0; i < count; i++) {
        bool is_decimal = ((unsigned)put_item_dtype(columns[i]->dtype) & 0xffU) == GRANARY_DECIMAL;

        wide[i] = is_decimal && (style->all_wide || (style->wide != NULL && style->wide[i]) ||
                                 !put_can_narrow(columns[i], from, rows));
    }
}

static void
note_columns(const granary_column *const *columns, size_t count, int64_t rows, const bool *wide, struct gr_buf *note)
{
    struct note_head head = {.columns = (uint32_t)count,
                             .groups = (uint32_t)((rows + PUT_GROUP_ROWS - 1) / PUT_GROUP_ROWS)};

    gr_buf_add(note, &head, sizeof head);
    for (size_t i = 0; i < count; i++) {
        struct note_column facts = {
            .dtype = (uint32_t)columns[i]->dtype, .size = (uint32_t)strlen(columns[i]->name), .wide = wide[i]};

        gr_buf_add(note, &facts, sizeof facts);
        gr_buf_add(note, columns[i]->name, facts.size);
    }
}

static granary_err
put_group(struct put_scratch *scratch, const granary_column *const *columns, size_t count, int64_t from, int64_t rows,
          const struct gr_parquet_style *style, const bool *wide, struct gr_buf *out)
{
    struct note_group group = {.rows = rows};
    size_t begin = out->size;
    size_t at = scratch->note.size;
    enum put_bloom_wish wish;
    granary_err err = GRANARY_OK;

    scratch->blooms.size = 0;
    gr_buf_add(&scratch->note, &group, sizeof group);
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        struct put_type type;

        err = put_type_of(columns[i]->dtype, &type);
        if (err == GRANARY_OK && type.kind == PUT_DECIMAL && !wide[i]) {
            put_type_narrow(&type);
        }
        wish = style->bloom == NULL ? PUT_BLOOM_CODED : style->bloom[i] ? PUT_BLOOM_ASKED : PUT_BLOOM_NONE;
        err = err == GRANARY_OK ? put_column(scratch, columns[i], &type, wish, from, rows, begin, out) : err;
        err = err == GRANARY_OK ? err : gr_fail_in(err, "column '%s'", columns[i]->name);
    }
    group.size = (int64_t)(out->size - begin);
    group.blooms = (int64_t)scratch->blooms.size;
    gr_buf_add(out, scratch->blooms.bytes, scratch->blooms.size);
    if (gr_buf_ok(&scratch->note)) {
        memcpy(scratch->note.bytes + at, &group, sizeof group);
    }
    return err;
}

granary_err
gr_parquet_put_groups(const granary_column *const *columns, size_t count, int64_t from, int64_t rows,
                      const struct gr_parquet_style *style, struct gr_buf *out)
{
    struct put_scratch scratch = {.packer = style->packer};
    bool *wide = calloc(count + 1, sizeof *wide);
    granary_err err = wide == NULL ? put_no_memory() : check_columns(columns, count);

    if (err == GRANARY_OK) {
        choose_wide(columns, count, from, rows, style, wide);
        note_columns(columns, count, rows, wide, &scratch.note);
    }
    for (int64_t at = 0; err == GRANARY_OK && at < rows; at += PUT_GROUP_ROWS) {
        err = put_group(&scratch, columns, count, from + at, rows - at < PUT_GROUP_ROWS ? rows - at : PUT_GROUP_ROWS,
                        style, wide, out);
    }
    if (err == GRANARY_OK) {
        struct note_end end = {.size = scratch.note.size, .magic = NOTE_MAGIC};

        gr_buf_add(out, scratch.note.bytes, scratch.note.size);
        gr_buf_add(out, &end, sizeof end);
        err = gr_buf_ok(out) && gr_buf_ok(&scratch.note) ? GRANARY_OK : put_no_memory();
    }
    gr_buf_free(&scratch.raw);
    gr_buf_free(&scratch.packed);
    gr_buf_free(&scratch.bounds);
    gr_buf_free(&scratch.blooms);
    gr_buf_free(&scratch.note);
    free(wide);
    return err;
}
