/*
 * Stops (line ends, delimiters and quotes) of a window of text are found by simd/csv.h; a record is plain when its
 * stops are as many delimiters as there are columns, and then a line end.
 */
#include "kernel/csv/csv_blocks.h"

#include "base/error.h"
#include "kernel/core/scratch.h"
#include "kernel/simd/csv.h"

enum { WINDOW = 32 << 10 };

granary_err
csv_blocks_init(struct csv_blocks *blocks, struct csv_text *text, size_t fields)
{
    *blocks = (struct csv_blocks){.text = text, .fields = fields, .base = text->at, .window_end = text->at};
    blocks->stops = scratch_alloc((WINDOW + 16) * sizeof *blocks->stops);
    if (blocks->stops == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%s: out of memory", text->path);
    }
    blocks->stops[0] = 0;
    return GRANARY_OK;
}

void
csv_blocks_fini(struct csv_blocks *blocks)
{
    scratch_free(blocks->stops);
    blocks->stops = NULL;
}

/* Find the stops from text->at on. Positions count from the byte before it, which there is: csv_text.h. */
static void
window_open(struct csv_blocks *blocks)
{
    const struct csv_text *text = blocks->text;
    size_t left = (size_t)(text->end - text->at);
    size_t size = left < WINDOW ? left : WINDOW;

    blocks->base = text->at - 1;
    blocks->window_end = text->at + size;
    blocks->stops[0] = 0;
    blocks->count = SIMD_CALL(csv_stops)(text->at, size, text->delimiter, 1, blocks->stops + 1);
    blocks->next = 1;
}

/* How many plain records there are from the next stop on. */
static int64_t
plain_records(const struct csv_blocks *blocks)
{
    const uint32_t *stops = blocks->stops + blocks->next;
    size_t fields = blocks->fields;
    size_t left = blocks->count + 1 - blocks->next;
    char delimiter = blocks->text->delimiter;
    int64_t rows = 0;

    for (; rows < CSV_BLOCK_ROWS && left >= fields; rows++, left -= fields, stops += fields) {
        unsigned odd = blocks->base[stops[fields - 1]] != '\n';

        for (size_t i = 0; i + 1 < fields; i++) {
            odd |= blocks->base[stops[i]] != delimiter;
        }
        if (odd != 0 || (fields == 1 && stops[0] == stops[-1] + 1)) {
            break;
        }
    }
    return rows;
}

enum csv_next
csv_blocks_next(struct csv_blocks *blocks, struct csv_block *ret_block)
{
    struct csv_text *text = blocks->text;
    bool fresh = false;

    if (text->at >= text->end) {
        return CSV_NEXT_END;
    }
    /* What was read field by field is left behind; the byte before is always a stop. */
    while (blocks->next <= blocks->count && blocks->base + blocks->stops[blocks->next] < text->at) {
        blocks->next++;
    }
    if (text->at >= blocks->window_end) {
        window_open(blocks);
        fresh = true;
    }
    for (;;) {
        int64_t rows = plain_records(blocks);

        if (rows > 0) {
            *ret_block = (struct csv_block){
                .base = blocks->base, .stops = blocks->stops + blocks->next, .fields = blocks->fields, .rows = rows};
            blocks->next += (size_t)rows * blocks->fields;
            text->record = blocks->base + blocks->stops[blocks->next - 1 - blocks->fields] + 1;
            text->at = blocks->base + blocks->stops[blocks->next - 1] + 1;
            return CSV_NEXT_BLOCK;
        }
        if (fresh || blocks->count + 1 - blocks->next >= blocks->fields) {
            return CSV_NEXT_ODD;
        }
        window_open(blocks); /* the window ends within a record */
        fresh = true;
    }
}
