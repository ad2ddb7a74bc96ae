/*
 * Inputs that are one frame each of packed ones (data/layout/packed.h). A lease of a frame keeps all of its object in
 * memory; of a spilled object it keeps the frames of its file around it. A reader of a shuffle has as many leases as
 * there are chunks. So in little memory the frames are copied one after the other, and no reader holds what another
 * one waits for.
 */
#include <string.h>

#include "base/error.h"
#include "executor/subtask/private.h"
#include "kernel/core/scratch.h"

/* Executors together keep no more than a small part of the store for frames they lease. */
#define PIN_SHARE 32

#define ALIGNED(size) (((size) + 63) / 64 * 64)

static uint64_t
length_of(const struct gr_packed_entry *entry)
{
    return entry->meta_offset + entry->meta_size - entry->data_offset;
}

/* Where each part is, and which are to be copied; *ret_bytes: what the copies take. */
static granary_err
find_parts(struct run *run, uint64_t *ret_bytes, size_t *ret_failed)
{
    struct parts *parts = &run->host->parts;
    uint64_t pin_most = parts_capacity(parts, run->client) / PIN_SHARE;
    uint64_t pinned = 0;
    granary_err err = GRANARY_OK;

    *ret_bytes = 0;
    for (size_t i = 0; i < run->input_count && err == GRANARY_OK; i++) {
        struct input *input = &run->inputs[i];
        granary_object_info info;

        if (input->part == 0) {
            continue;
        }
        *ret_failed = i;
        err = granary_object_info_get(run->client, input->id, &info);
        if (err == GRANARY_OK) {
            err = parts_find(parts, run->client, input->id, info.serial, input->part - 1, &input->entry);
        }
        if (err != GRANARY_OK) {
            break;
        }
        if (info.state == GRANARY_OBJECT_SEALED && pinned + info.data_size <= pin_most) {
            pinned += info.data_size;
        } else {
            input->copied = true;
            *ret_bytes += ALIGNED(length_of(&input->entry));
        }
    }
    return err;
}

granary_err
run_get_parts(struct run *run, size_t *ret_failed)
{
    uint64_t bytes;
    uint64_t at = 0;
    granary_err err = find_parts(run, &bytes, ret_failed);

    if (err == GRANARY_OK && bytes > 0 && (run->copies = scratch_alloc(bytes)) == NULL) {
        *ret_failed = SIZE_MAX;
        err = gr_fail(GRANARY_ENOMEM, "parts of inputs, %llu bytes: out of memory", (unsigned long long)bytes);
    }
    for (size_t i = 0; i < run->input_count && err == GRANARY_OK; i++) {
        struct input *input = &run->inputs[i];
        uint64_t length = length_of(&input->entry);

        if (input->part == 0) {
            continue;
        }
        *ret_failed = i;
        err = granary_object_get_range(run->client, input->id, input->entry.data_offset, length, 0, &run->views[i]);
        if (err != GRANARY_OK) {
            run->views[i] = (granary_view){0};
        } else if (input->copied) {
            memcpy((char *)run->copies + at, run->views[i].data, length);
            granary_object_release(run->client, &run->views[i]);
            run->views[i] = (granary_view){.data = (char *)run->copies + at, .data_size = length};
            at += ALIGNED(length);
        }
        run->done->in_bytes += length;
    }
    return err;
}
