/* Any bytes as a piece of a durable table: entries that lie in it and make sense, rows that fit the table, or an error. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "mutable/durable/joined.h"

/* The columns n, an int64, and s, a string, without rows. */
static granary_frame *
table_schema(void)
{
    const granary_column columns[] = {{.name = "n", .dtype = GRANARY_INT64}, {.name = "s", .dtype = GRANARY_STRING}};
    granary_frame *schema = gr_frame_create(2, 0);

    for (size_t i = 0; schema != NULL && i < 2; i++) {
        if (gr_frame_set_borrowed(schema, i, columns[i].name, &columns[i]) != GRANARY_OK) {
            abort();
        }
    }
    return schema;
}

/* Whatever a piece tells is read to the last byte. */
static uint64_t
touch(const char *bytes, uint64_t size)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < size; i++) {
        sum += (unsigned char)bytes[i];
    }
    return sum;
}

static volatile uint64_t touched; /* somewhere to put it, so that it is read */

/* Errors: those of a piece that makes no sense */
static granary_err
read_entry(const struct piece_entry *entry, struct joined *rows, const granary_frame *schema)
{
    granary_frame *all = NULL;
    granary_err err = GRANARY_OK;

    touched += touch(entry->data, entry->head.data_size) + touch(entry->meta, entry->head.meta_size);
    if (entry->head.kind != GR_PIECE_ROWS) {
        return GRANARY_OK;
    }
    if (!joined_continues(rows, entry)) {
        joined_clear(rows);
    }
    err = joined_add(rows, entry, schema);
    if (err == GRANARY_OK && !joined_is_empty(rows)) {
        err = joined_frame(rows, &all);
        gr_frame_destroy(all);
    }
    return err;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *data = aligned_alloc(64, (size + 64) / 64 * 64); /* as an object's data are */
    granary_frame *schema = table_schema();
    struct joined rows = {.count = 0};
    struct piece_reader reader;
    struct piece_entry entry;

    if (data == NULL || schema == NULL) {
        abort();
    }
    if (size > 0) {
        memcpy(data, bytes, size);
    }
    if (size >= sizeof reader.head) { /* a length that fits, for nearly no input has one */
        memcpy(data + offsetof(struct gr_mutable_piece, size), &(uint64_t){size}, sizeof(uint64_t));
    }
    if (piece_open(data, size, &reader) == GRANARY_OK) {
        while (piece_has_more(&reader) && piece_next(&reader, &entry) == GRANARY_OK &&
               read_entry(&entry, &rows, schema) == GRANARY_OK) {
        }
    }
    joined_free(&rows);
    gr_frame_destroy(schema);
    free(data);
    return 0;
}
