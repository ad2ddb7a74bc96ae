/* Notes in slabs. Slabs grow with what their writer writes, as chunks do. */
#include "mutable/core/slab.h"

#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "mutable/core/index.h"

#define SLAB_LEAST ((uint64_t)4 << 10)
#define SLAB_MOST  ((uint64_t)1 << 20)

/* ---- writing ---- */

static granary_err
slab_begin(struct slab_writer *slab, granary_client *client, granary_id table, struct gr_lane *shared, uint32_t lane,
           uint64_t size, int timeout_ms)
{
    const uint32_t number = atomic_load_explicit(&shared->chunks, memory_order_relaxed);
    uint64_t room = slab->object.size * 2 < SLAB_MOST ? slab->object.size * 2 : SLAB_MOST;
    granary_buffer buffer;
    struct kept object;
    granary_err err;

    room = room > SLAB_LEAST ? room : SLAB_LEAST;
    atomic_store_explicit(&shared->chunks, number + 1, memory_order_relaxed);
    atomic_store_explicit(&shared->open[GR_MUTABLE_SLAB], number + 1, memory_order_relaxed);
    err = kept_create(client, kept_id(table, GR_MUTABLE_SLAB, lane, number), size > room ? size : room, 0, timeout_ms,
                      &buffer);
    err = err == GRANARY_OK ? kept_seal(client, table, &buffer, &object) : err;
    if (err == GRANARY_OK) {
        kept_close(&slab->object);
        *slab = (struct slab_writer){.object = object, .number = number};
    }
    return err;
}

granary_err
slab_put(struct slab_writer *slab, granary_client *client, granary_id table, struct gr_lane *shared, uint32_t lane,
         uint64_t size, int timeout_ms, struct gr_mutable_note **ret_note)
{
    granary_err err = GRANARY_OK;

    if (!slab->object.is_open || note_pad(size) > slab->object.size - slab->used) {
        err = slab_begin(slab, client, table, shared, lane, note_pad(size), timeout_ms);
    }
    if (err == GRANARY_OK) {
        *ret_note = (struct gr_mutable_note *)(void *)((char *)slab->object.data + slab->used);
        **ret_note = (struct gr_mutable_note){.size = size};
        slab->used += note_pad(size);
    }
    return err;
}

uint64_t
slab_what(const struct slab_writer *slab, const struct gr_mutable_note *note)
{
    const uint64_t offset = (uint64_t)((const char *)note - (const char *)slab->object.data);

    return GR_MUTABLE_WHAT(GR_MUTABLE_NOTE, slab->number, offset / GR_NOTE_ALIGN);
}

void
slab_end(struct slab_writer *slab)
{
    kept_close(&slab->object);
}

/* ---- reading ---- */

granary_err
slab_get(granary_client *client, granary_id table, uint32_t lane, uint32_t slab, granary_view *ret_view)
{
    granary_err err = granary_object_get(client, kept_id(table, GR_MUTABLE_SLAB, lane, slab), 0, ret_view);

    /* Who committed there had sealed it before. */
    return err == GRANARY_ENOENT ? gr_fail(GRANARY_ECORRUPT, "slab %u of lane %u is gone", slab, lane) : err;
}

granary_err
note_at(const granary_view *slab, uint64_t offset, struct note_view *ret_view)
{
    struct note_view view = {.slab = *slab};

    if (offset <= slab->data_size && slab->data_size - offset >= sizeof view.head) {
        memcpy(&view.head, (const char *)slab->data + offset, sizeof view.head);
        view.body = (const char *)slab->data + offset + sizeof view.head;
        if (view.head.size >= sizeof view.head && view.head.size <= slab->data_size - offset) {
            *ret_view = view;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_ECORRUPT, "a slab has no note at byte %llu", (unsigned long long)offset);
}

granary_err
note_get(granary_client *client, granary_id table, const struct index_note *note, struct note_view *ret_view)
{
    granary_view slab;
    granary_err err = slab_get(client, table, note->lane, note->slab, &slab);

    if (err == GRANARY_OK) {
        err = note_at(&slab, note->offset, ret_view);
        if (err != GRANARY_OK) {
            granary_object_release(client, &slab);
        }
    }
    return err;
}

void
note_release(granary_client *client, struct note_view *view)
{
    granary_object_release(client, &view->slab);
}

/* ---- ranges ---- */

granary_err
ranges_add(struct ranges *ranges, struct gr_note_range range)
{
    if (ranges->count > 0 && ranges->range[ranges->count - 1].to == range.from) {
        ranges->range[ranges->count - 1].to = range.to;
        return GRANARY_OK;
    }
    if (!gr_grow(&ranges->range, &ranges->room, ranges->count, sizeof range)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    ranges->range[ranges->count++] = range;
    return GRANARY_OK;
}

uint64_t
ranges_numbers(const struct ranges *ranges)
{
    uint64_t numbers = 0;

    for (size_t i = 0; i < ranges->count; i++) {
        numbers += ranges->range[i].to - ranges->range[i].from;
    }
    return numbers;
}

granary_err
note_ranges(const struct note_view *view, struct ranges *ranges)
{
    uint64_t before = 0;

    if (view->head.count > (view->head.size - sizeof view->head) / sizeof(struct gr_note_range)) {
        return gr_fail(GRANARY_ECORRUPT, "a note does not have %llu ranges", (unsigned long long)view->head.count);
    }
    for (uint64_t i = 0; i < view->head.count; i++) {
        struct gr_note_range range;
        granary_err err;

        memcpy(&range, view->body + i * sizeof range, sizeof range);
        if (range.from < before || range.to <= range.from) {
            return gr_fail(GRANARY_ECORRUPT, "the ranges of a note do not ascend");
        }
        before = range.to;
        err = ranges_add(ranges, range);
        if (err != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}
