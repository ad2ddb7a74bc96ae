/* Places: what a frame will need is counted first, then columns take their memory one after the other. */
#include "data/place.h"

#include <stdlib.h>

#define ALIGNMENT  64u
#define LEAST      ((size_t)64 << 10)    /* smaller columns are not worth it */
#define FILE_LEAST ((uint64_t)256 << 10) /* nor smaller frames */

static _Thread_local struct gr_place *here;

static uint64_t
aligned(uint64_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void
gr_place_set(struct gr_place *place)
{
    here = place;
}

struct gr_place *
place_leave(void)
{
    struct gr_place *place = here;

    here = NULL;
    return place;
}

/* Ask for the room, once. */
static bool
open_room(uint64_t size)
{
    if (here == NULL || here->closed || here->file != NULL || size < FILE_LEAST) {
        return false;
    }
    here->file = here->room(here, size);
    here->closed = here->file == NULL;
    here->size = size;
    return here->file != NULL;
}

static uint64_t
text_need(const granary_column *column, int64_t rows)
{
    int64_t text = column->rows > 0 && column->offsets != NULL ? column->offsets[column->rows] - column->offsets[0] : 0;
    double share = column->rows > 0 ? (double)rows / (double)column->rows : 0;

    return aligned(((uint64_t)rows + 1) * sizeof(int32_t)) + aligned((uint64_t)((double)text * share) + 1);
}

static uint64_t
list_need(const granary_column *column, int64_t rows)
{
    const granary_column *items = gr_list_items(column);
    double share = column->rows > 0 ? (double)rows / (double)column->rows : 0;

    return aligned(((uint64_t)rows + 1) * sizeof(int32_t)) +
           gr_place_need(items, (int64_t)((double)items->rows * share) + 1);
}

uint64_t
gr_place_need(const granary_column *column, int64_t rows)
{
    uint64_t need = column->null_count > 0 ? aligned((uint64_t)gr_bitmap_bytes(rows)) : 0;

    if (gr_dtype_is_text(column->dtype) && column->dictionary == NULL) {
        return need + text_need(column, rows);
    }
    if (gr_dtype_is_list(column->dtype)) {
        return need + list_need(column, rows);
    }
    if (column->dictionary != NULL) {
        need += 1024 + text_need(column->dictionary, column->dictionary->rows);
    }
    if (column->dtype == GRANARY_BOOL) {
        return need + aligned((uint64_t)gr_bitmap_bytes(rows));
    }
    return need + aligned((uint64_t)rows * gr_value_size(column));
}

void
gr_place_expect(size_t columns, uint64_t bytes)
{
    uint64_t head = gr_arrow_place_head(columns);

    if (open_room(head + bytes + gr_arrow_place_tail(columns))) {
        here->used = head;
    }
}

void
gr_place_expect_rows(const granary_frame *frame, int64_t rows)
{
    uint64_t bytes = 0;

    for (size_t i = 0; here != NULL && i < frame->count; i++) {
        bytes += gr_place_need(&frame->columns[i].view, rows);
    }
    gr_place_expect(frame->count, bytes);
}

void
gr_place_expect_all(const granary_frame *const *frames, size_t count)
{
    uint64_t bytes = 0;

    for (size_t f = 0; here != NULL && f < count; f++) {
        for (size_t i = 0; i < frames[f]->count; i++) {
            bytes += gr_place_need(&frames[f]->columns[i].view, frames[f]->rows);
        }
    }
    gr_place_expect(count > 0 ? frames[0]->count : 0, bytes);
}

void *
place_alloc(size_t size)
{
    char *at;

    if (here == NULL || here->closed || here->file == NULL || size < LEAST || here->used + aligned(size) > here->size) {
        return NULL;
    }
    at = here->file + here->used;
    here->last = here->used;
    here->used += aligned(size);
    return at;
}

bool
place_give(const void *bytes)
{
    uint64_t at;

    if (here == NULL || here->file == NULL || (uintptr_t)bytes < (uintptr_t)here->file ||
        (uintptr_t)bytes >= (uintptr_t)here->file + here->size) {
        return false;
    }
    at = (uint64_t)((const char *)bytes - here->file);
    here->used = at == here->last && !here->closed ? at : here->used;
    return true;
}

void *
gr_bytes_alloc(uint64_t size)
{
    if (!open_room(size)) {
        return aligned_alloc(ALIGNMENT, aligned(size));
    }
    here->closed = true;
    here->used = size;
    return here->file;
}

void
gr_bytes_free(void *bytes)
{
    if (!place_give(bytes)) {
        free(bytes);
    }
}
