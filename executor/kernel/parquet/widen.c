/* See widen.h: the row groups become a file in memory, which is read, and written as others are. */
#include "kernel/parquet/widen.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "kernel/parquet/column/column.h"

static granary_err
add_bytes(void *out, const void *bytes, size_t size)
{
    gr_buf_add(out, bytes, size);
    return gr_buf_ok(out) ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "out of memory for row groups");
}

static granary_err
make_file(const void *bytes, size_t size, struct gr_buf *out)
{
    static const uint8_t slack[PAGE_SLACK];
    struct gr_parquet_writer *writer = NULL;
    granary_err err = gr_parquet_writer_create(add_bytes, out, &writer);

    err = err == GRANARY_OK ? gr_parquet_writer_add(writer, bytes, size) : err;
    err = err == GRANARY_OK ? gr_parquet_writer_finish(writer) : err;
    err = err == GRANARY_OK ? add_bytes(out, slack, sizeof slack) : err;
    gr_parquet_writer_destroy(writer);
    return err;
}

static granary_err
parse_file(const struct gr_buf *bytes, struct gr_parquet **ret_file)
{
    size_t size = bytes->size - PAGE_SLACK;
    const char *end = bytes->bytes + size - 8;
    uint32_t footer;
    uint8_t *copy;

    memcpy(&footer, end, sizeof footer);
    copy = malloc((size_t)footer + 1);
    if (copy == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory for a footer");
    }
    memcpy(copy, end - footer, footer);
    return gr_parquet_parse(copy, footer, size, ret_file);
}

static granary_err
read_column(const struct gr_parquet *file, const char *bytes, size_t leaf, struct gr_column *ret_column)
{
    size_t count = 0;
    const struct gr_parquet_leaf *of = &gr_parquet_leaves(file, &count)[leaf];
    const struct gr_parquet_group *groups = gr_parquet_groups(file, &count);
    struct column column;
    struct list_column lists;
    bool is_list = of->repeats > 0;
    granary_err err =
        is_list ? list_column_open(&lists, of, gr_parquet_rows(file)) : column_open(&column, of, gr_parquet_rows(file));

    for (size_t g = 0; err == GRANARY_OK && g < count; g++) {
        const struct gr_parquet_chunk *chunk = &groups[g].chunks[leaf];
        const struct stretch all = {.group_rows = groups[g].rows, .rows = groups[g].rows};
        struct pages pages = {
            .bytes = (const uint8_t *)bytes + chunk->at, .codec = chunk->codec, .size = (size_t)chunk->size};

        err = is_list ? list_column_add(&lists, &pages, groups[g].rows, 0, groups[g].rows)
                      : column_add(&column, &pages, &all);
        pages_free(&pages);
    }
    if (err == GRANARY_OK) {
        err = is_list ? list_column_finish(&lists, ret_column) : column_finish(&column, ret_column);
    }
    if (is_list) {
        list_column_close(&lists);
    } else {
        column_close(&column);
    }
    return err;
}

static granary_err
read_file(const struct gr_parquet *file, const char *bytes, granary_frame **ret_frame)
{
    size_t count = 0;
    const struct gr_parquet_column *columns = gr_parquet_columns(file, &count);
    granary_frame *frame = gr_frame_create(count, gr_parquet_rows(file));
    granary_err err = GRANARY_OK;

    for (size_t i = 0; frame != NULL && err == GRANARY_OK && i < count; i++) {
        struct gr_column column;

        err = read_column(file, bytes, columns[i].leaf, &column);
        err = err == GRANARY_OK ? gr_frame_set(frame, i, columns[i].name, &column)
                                : gr_fail_in(err, "column '%s'", columns[i].name);
    }
    return gr_frame_give(frame, err, ret_frame);
}

granary_err
parquet_widen(const void *bytes, size_t size, const struct gr_parquet_style *style, const Granary__Attr *bloom,
              struct gr_buf *out)
{
    struct gr_parquet_style own = *style;
    struct pack_columns columns = {.columns = NULL};
    struct gr_buf whole = {0};
    struct gr_parquet *file = NULL;
    granary_frame *frame = NULL;
    granary_err err = make_file(bytes, size, &whole);

    err = err == GRANARY_OK ? parse_file(&whole, &file) : err;
    err = err == GRANARY_OK ? read_file(file, whole.bytes, &frame) : err;
    gr_buf_free(&whole);
    err = err == GRANARY_OK ? pack_columns_open(frame, bloom, &columns) : err;
    if (err == GRANARY_OK) {
        own.bloom = columns.bloom;
        err = gr_parquet_put_groups(columns.columns, frame->count, 0, frame->rows, &own, out);
    }
    pack_columns_close(&columns);
    gr_frame_destroy(frame);
    gr_parquet_close(file);
    return err;
}
