/*
 * Which buffers are open. A granary_buffer is the caller's struct, which may be copied: what one copy was sealed,
 * aborted or resized through must not be written or given back through another one. So each open buffer has a mark that
 * no other had before it; marks[mark % size] is the mark while it is open.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "object/client.h"

#define MARKS_FIRST 16u

bool
buffer_is_open(const granary_client *client, uint32_t mark)
{
    const struct open_buffers *open = &client->open;

    return mark != 0 && open->size != 0 && open->marks[mark & (open->size - 1)] == mark;
}

/* Twice as many: marks that had places of their own have them still. */
static granary_err
grow(struct open_buffers *open)
{
    uint32_t size = open->size == 0 ? MARKS_FIRST : open->size * 2;
    uint32_t *marks = calloc(size, sizeof *marks);

    if (marks == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for one more unsealed object");
    }
    for (uint32_t i = 0; i < open->size; i++) {
        if (open->marks[i] != 0) {
            marks[open->marks[i] & (size - 1)] = open->marks[i];
        }
    }
    free(open->marks);
    open->marks = marks;
    open->size = size;
    return GRANARY_OK;
}

/* Half of the places are free at least: the next mark with a free one is near. */
static uint32_t
mark_next(struct open_buffers *open)
{
    do {
        open->last++;
    } while (open->last == 0 || open->marks[open->last & (open->size - 1)] != 0);
    open->marks[open->last & (open->size - 1)] = open->last;
    return open->last;
}

granary_err
buffer_open(granary_client *client, uint32_t *ret_mark)
{
    struct open_buffers *open = &client->open;
    granary_err err = open->count >= open->size / 2 ? grow(open) : GRANARY_OK;

    if (err == GRANARY_OK) {
        open->count++;
        *ret_mark = mark_next(open);
    }
    return err;
}

void
buffer_close(granary_client *client, uint32_t mark)
{
    struct open_buffers *open = &client->open;

    if (buffer_is_open(client, mark)) {
        open->marks[mark & (open->size - 1)] = 0;
        open->count--;
    }
}

void
buffer_renew(granary_client *client, uint32_t *mark)
{
    struct open_buffers *open = &client->open;

    open->marks[*mark & (open->size - 1)] = 0;
    *mark = mark_next(open);
}
