/* A file is found by its end: the footer, its length, and the magic. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text/buf.h"
#include "parquet/private.h"

#define MAGIC       "PAR1"
#define MAGIC_AES   "PARE" /* the footer is encrypted */
#define TAIL_SIZE   8
#define FOOTER_MOST ((uint64_t)1 << 30)

granary_err
gr_parquet_parse(uint8_t *bytes, size_t size, uint64_t file_size, struct gr_parquet **ret_file)
{
    struct gr_parquet *file = calloc(1, sizeof *file);
    granary_err err = GRANARY_OK;

    if (file == NULL) {
        free(bytes);
        return parquet_no_memory();
    }
    file->bytes = bytes;
    file->file_size = file_size;
    file->memory = gr_region_create();
    err = file->memory == NULL ? parquet_no_memory() : parquet_read_footer(file, size);
    if (err != GRANARY_OK) {
        gr_parquet_close(file);
        return err;
    }
    *ret_file = file;
    return GRANARY_OK;
}

/* Where the footer is. */
static granary_err
find_footer(int fd, uint64_t file_size, uint64_t *ret_at, uint64_t *ret_size)
{
    uint8_t tail[TAIL_SIZE];
    uint32_t size;
    granary_err err;

    if (file_size < sizeof tail + sizeof MAGIC - 1) {
        return gr_fail(GRANARY_ETYPE, "is no Parquet file: it has %llu bytes", (unsigned long long)file_size);
    }
    err = gr_pread_all(fd, tail, sizeof tail, (int64_t)(file_size - sizeof tail));
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(&size, tail, sizeof size);
    if (memcmp(tail + sizeof size, MAGIC_AES, sizeof MAGIC_AES - 1) == 0) {
        return gr_fail(GRANARY_EUNSUPPORTED, "it is encrypted, which cannot be read");
    }
    if (memcmp(tail + sizeof size, MAGIC, sizeof MAGIC - 1) != 0) {
        return gr_fail(GRANARY_ETYPE, "is no Parquet file, or not complete: it does not end with %s", MAGIC);
    }
    if (size > file_size - sizeof tail - (sizeof MAGIC - 1)) {
        return gr_fail(GRANARY_ECORRUPT, "its footer would have %lu bytes, more than the file", (unsigned long)size);
    }
    if (size > FOOTER_MOST) {
        return gr_fail(GRANARY_EUNSUPPORTED, "its footer has more than 1 GiB");
    }
    *ret_at = file_size - sizeof tail - size;
    *ret_size = size;
    return GRANARY_OK;
}

granary_err
gr_parquet_open(int fd, uint64_t file_size, const char *path, struct gr_parquet **ret_file)
{
    uint64_t at = 0;
    uint64_t size = 0;
    uint8_t *bytes = NULL;
    granary_err err = find_footer(fd, file_size, &at, &size);

    if (err == GRANARY_OK) {
        bytes = malloc(size + 1);
        err = bytes == NULL ? parquet_no_memory() : gr_pread_all(fd, bytes, size, (int64_t)at);
    }
    if (err == GRANARY_OK) {
        err = gr_parquet_parse(bytes, size, at, ret_file);
        bytes = NULL;
    }
    free(bytes);
    return err == GRANARY_OK ? err : gr_fail_in(err, "%s", path);
}

void
gr_parquet_close(struct gr_parquet *file)
{
    if (file == NULL) {
        return;
    }
    if (file->memory != NULL) {
        gr_region_destroy(file->memory);
    }
    free(file->bytes);
    free(file);
}

const struct gr_parquet_column *
gr_parquet_columns(const struct gr_parquet *file, size_t *ret_count)
{
    *ret_count = file->column_count;
    return file->columns;
}

const struct gr_parquet_leaf *
gr_parquet_leaves(const struct gr_parquet *file, size_t *ret_count)
{
    *ret_count = file->leaf_count;
    return file->leaves;
}

const struct gr_parquet_group *
gr_parquet_groups(const struct gr_parquet *file, size_t *ret_count)
{
    *ret_count = file->group_count;
    return file->groups;
}

int64_t
gr_parquet_rows(const struct gr_parquet *file)
{
    return file->rows;
}

/* ---- columns that cannot be read ---- */

static void
list_columns(const struct gr_parquet *file, const bool *wanted, bool readable, struct gr_buf *out)
{
    size_t listed = 0;

    for (size_t i = 0; i < file->column_count; i++) {
        const struct gr_parquet_column *column = &file->columns[i];

        if (column->readable != readable || (!readable && wanted != NULL && !wanted[i])) {
            continue;
        }
        if (listed == (readable ? 20 : 5)) { /* a message has an end */
            gr_buf_addf(out, ", ...");
            return;
        }
        gr_buf_addf(out, "%s'%s'", listed++ > 0 ? ", " : "", column->name);
        if (!readable) {
            gr_buf_addf(out, " (%s)", column->what);
        }
    }
    if (listed == 0) {
        gr_buf_addf(out, "none");
    }
}

granary_err
gr_parquet_check(const struct gr_parquet *file, const bool *wanted)
{
    struct gr_buf text = {0};
    bool all = true;
    granary_err err;

    for (size_t i = 0; i < file->column_count; i++) {
        all = all && (file->columns[i].readable || (wanted != NULL && !wanted[i]));
    }
    if (all) {
        return GRANARY_OK;
    }
    gr_buf_addf(&text, "these columns are of types that are not supported: ");
    list_columns(file, wanted, false, &text);
    gr_buf_addf(&text, "; select others: ");
    list_columns(file, NULL, true, &text);
    err = gr_buf_ok(&text) ? gr_fail(GRANARY_EUNSUPPORTED, "%s", text.bytes) : parquet_no_memory();
    gr_buf_free(&text);
    return err;
}
