/* Packed frames written, checked and opened. */
#include "data/layout/packed.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "data/place.h"

#define ALIGNMENT UINT64_C(64)

static uint64_t
aligned(uint64_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

granary_err
gr_packed_write(const granary_frame *const *frames, size_t count, void **ret_bytes, uint64_t *ret_size)
{
    struct gr_packed_head head = {.magic = GR_PACKED_MAGIC, .version = GR_PACKED_VERSION, .count = (uint32_t)count};
    struct gr_packed_entry *entries = calloc(count + 1, sizeof *entries);
    uint64_t at = aligned(gr_packed_entry_at((uint32_t)count));
    char *bytes = NULL;
    granary_err err =
        entries == NULL ? gr_fail(GRANARY_ENOMEM, "packing %zu frames: out of memory", count) : GRANARY_OK;

    if (count > GR_PACKED_MOST) {
        err = gr_fail(GRANARY_EFULL, "packing %zu frames: at most %d go into an object", count, GR_PACKED_MOST);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = gr_arrow_measure(frames[i], &entries[i].data_size, &entries[i].meta_size);
        entries[i].data_offset = at;
        entries[i].meta_offset = at + aligned(entries[i].data_size);
        at = entries[i].meta_offset + aligned(entries[i].meta_size);
    }
    if (err == GRANARY_OK && (bytes = gr_bytes_alloc(at)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "packing %llu bytes: out of memory", (unsigned long long)at);
    }
    if (err != GRANARY_OK) {
        free(entries);
        return err;
    }
    memset(bytes, 0, count > 0 ? entries[0].data_offset : at);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, entries, count * sizeof *entries);
    for (size_t i = 0; i < count; i++) {
        uint64_t end = i + 1 < count ? entries[i + 1].data_offset : at;

        gr_arrow_write_passing(frames[i], bytes + entries[i].data_offset, bytes + entries[i].meta_offset);
        memset(bytes + entries[i].data_offset + entries[i].data_size, 0,
               entries[i].meta_offset - entries[i].data_offset - entries[i].data_size);
        memset(bytes + entries[i].meta_offset + entries[i].meta_size, 0,
               end - entries[i].meta_offset - entries[i].meta_size);
    }
    free(entries);
    *ret_bytes = bytes;
    *ret_size = at;
    return GRANARY_OK;
}

granary_err
gr_packed_check(const void *head, const void *entry, uint32_t i, uint64_t object_size,
                struct gr_packed_entry *ret_entry)
{
    struct gr_packed_head h;
    struct gr_packed_entry e;

    memcpy(&h, head, sizeof h);
    memcpy(&e, entry, sizeof e);
    if (h.magic == GR_PACKED_MAGIC && h.version != GR_PACKED_VERSION) {
        return gr_fail(GRANARY_EVERSION, "packed frames of version %u, this granary reads %u: run the graph again",
                       h.version, GR_PACKED_VERSION);
    }
    if (h.magic != GR_PACKED_MAGIC || h.count > GR_PACKED_MOST) {
        return gr_fail(GRANARY_ECORRUPT, "these are no packed frames");
    }
    if (i >= h.count) {
        return gr_fail(GRANARY_EINVAL, "frame %u of %u that are packed", i, h.count);
    }
    if (e.data_offset % ALIGNMENT != 0 || e.meta_offset % ALIGNMENT != 0 || e.data_offset > object_size ||
        e.meta_offset < e.data_offset || e.data_size > e.meta_offset - e.data_offset || e.meta_offset > object_size ||
        e.meta_size > object_size - e.meta_offset) {
        return gr_fail(GRANARY_ECORRUPT, "packed frame %u does not fit its object", i);
    }
    *ret_entry = e;
    return GRANARY_OK;
}

granary_err
gr_packed_open(const void *data, const struct gr_packed_entry *entry, granary_frame **ret_frame)
{
    return gr_arrow_read(data, entry->data_size, (const char *)data + (entry->meta_offset - entry->data_offset),
                         entry->meta_size, ret_frame);
}
