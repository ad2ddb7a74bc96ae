/*
 * Frames of a row each would take more for themselves than for their rows. So when FAN frames of one level lie on top of
 * the pile, they become one of the next level: each row is copied once a level.
 */
#include "kernel/recursion/pile.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "data/place.h"

#define FAN 32
/* Frames with so many rows are put together at the end only. */
#define LARGE_ROWS 65536
#define LARGE      1000 /* a level that others do not reach */

static uint64_t
bytes_of(const granary_frame *frame)
{
    uint64_t bytes = 0;

    for (size_t c = 0; c < frame->count; c++) {
        bytes += gr_place_need(&frame->columns[c].view, frame->rows);
    }
    return bytes;
}

granary_err
pile_add(struct pile *pile, granary_frame *frame)
{
    if (!gr_grow(&pile->parts, &pile->room, pile->count, sizeof *pile->parts)) {
        gr_frame_destroy(frame);
        return gr_no_memory("recurse");
    }
    pile->parts[pile->count++] =
        (struct pile_part){.frame = frame, .first = pile->rows, .level = frame->rows < LARGE_ROWS ? 0 : LARGE};
    pile->rows += frame->rows;
    pile->bytes += bytes_of(frame);
    return GRANARY_OK;
}

const granary_frame *
pile_find(const struct pile *pile, int64_t row, int64_t *ret_row)
{
    size_t low = 0;
    size_t high = pile->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (pile->parts[middle].first <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *ret_row = row - pile->parts[low].first;
    return pile->parts[low].frame;
}

static granary_err
join_parts(const struct pile *pile, size_t from, granary_frame **ret_frame)
{
    size_t count = pile->count - from;
    const granary_frame **frames = calloc(count + 1, sizeof(const granary_frame *));
    granary_err err = frames == NULL ? gr_no_memory("recurse") : GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        frames[i] = pile->parts[from + i].frame;
    }
    err = err == GRANARY_OK ? gr_frame_concat(frames, count, ret_frame) : err;
    free(frames);
    return err;
}

granary_err
pile_settle(struct pile *pile)
{
    granary_err err = GRANARY_OK;
    bool more = true;

    while (more && err == GRANARY_OK && pile->count >= FAN) {
        size_t from = pile->count - FAN;
        int level = pile->parts[pile->count - 1].level;
        granary_frame *frame = NULL;

        for (size_t i = from; i < pile->count && more; i++) {
            more = pile->parts[i].level == level && level != LARGE;
        }
        if (!more) {
            break;
        }
        err = join_parts(pile, from, &frame);
        if (err == GRANARY_OK) {
            for (size_t i = from; i < pile->count; i++) {
                gr_frame_destroy(pile->parts[i].frame);
            }
            pile->parts[from].frame = frame;
            pile->parts[from].level = frame->rows < LARGE_ROWS ? level + 1 : LARGE;
            pile->count = from + 1;
        }
    }
    return err;
}

granary_err
pile_give(const struct pile *pile, granary_frame **ret_frame)
{
    const granary_frame **frames = calloc(pile->count + 1, sizeof(const granary_frame *));

    if (frames == NULL) {
        return gr_no_memory("recurse");
    }
    for (size_t i = 0; i < pile->count; i++) {
        frames[i] = pile->parts[i].frame;
    }
    gr_place_expect_all(frames, pile->count);
    free(frames);
    return join_parts(pile, 0, ret_frame);
}

void
pile_free(struct pile *pile)
{
    for (size_t i = 0; i < pile->count; i++) {
        gr_frame_destroy(pile->parts[i].frame);
    }
    free(pile->parts);
    *pile = (struct pile){0};
}
