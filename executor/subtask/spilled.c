/*
 * Inputs that lie on disk are read there, and only the columns that operators want. Nothing is brought back into the
 * store for that. So a query over a table that is larger than memory pushes nothing out, neither its own intermediate
 * results nor what others use: a scan goes past the cache (Stonebraker, Operating System Support for Database
 * Management, 1981).
 *
 * What fits beside everything else is brought back, as other subtasks will find it in memory then. So is what this
 * executor read as a whole a moment ago, such as the smaller side of a join. Whatever goes wrong here is left to the
 * store, which tries again and tells of it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "client/read/spilled.h"
#include "contract/shm.h"
#include "data/layout/directory.h"
#include "executor/subtask/private.h"
#include "executor/subtask/wanted.h"
#include "graph/chunk/ops.h"
#include "kernel/core/scratch.h"

#define MEMORY_SHARE 4 /* of the store's memory, what spilled inputs of a subtask take at most */
#define ROOM_SHARE   4 /* of the store's memory, what stays free when an input is brought back */

/* ---- what is read ---- */

/* Every frame is read once, however many columns have a part in it. */
static granary_err
read_range(const struct spilled *spilled, uint64_t offset, uint64_t size, bool *have, char *bytes)
{
    granary_err err = GRANARY_OK;
    uint64_t data_size = spilled->info.data_size;
    uint64_t frame;
    uint32_t first, end;

    if (size == 0) {
        return GRANARY_OK;
    }
    if (offset > data_size || size > data_size - offset) {
        return gr_fail(GRANARY_ECORRUPT, "a column is not within its object");
    }
    frame = spilled->image.frame_bytes;
    end = image_frames_of(&spilled->image, offset, size, &first);
    end += first;
    while (first < end && err == GRANARY_OK) {
        uint32_t next = first;

        while (next < end && !have[next]) {
            have[next++] = true;
        }
        err = spilled_read(spilled, first * frame, (next < end ? next * frame : offset + size) - first * frame, bytes);
        for (first = next; first < end && have[first]; first++) {
        }
    }
    return err;
}

static granary_err
read_column(const struct spilled *spilled, const struct gr_directory_column *entry, bool *have, char *bytes)
{
    const uint64_t ranges[][2] = {{entry->validity_offset, entry->validity_size},
                                  {entry->offsets_offset, entry->offsets_size},
                                  {entry->values_offset, entry->values_size},
                                  {entry->entry_offsets_offset, entry->entry_offsets_size},
                                  {entry->entry_text_offset, entry->entry_text_size}};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && err == GRANARY_OK; i++) {
        err = read_range(spilled, ranges[i][0], ranges[i][1], have, bytes);
    }
    return err;
}

/* What an executor read as a whole is brought back when it wants it again. */
static bool
was_read(struct run *run, uint64_t serial)
{
    struct parts *parts = &run->host->parts;

    for (size_t i = 0; i < PARTS_READ; i++) {
        if (parts->read[i] == serial) {
            return true;
        }
    }
    parts->read[parts->read_next++ % PARTS_READ] = serial;
    return false;
}

static granary_err
read_columns(struct run *run, size_t position, const struct spilled *spilled, char *bytes)
{
    struct input *input = &run->inputs[position];
    const char *meta = bytes + GR_ALIGNED(spilled->info.data_size);
    bool *have = calloc(spilled->image.record.frames, sizeof *have);
    struct wanted columns = {.entries = NULL};
    granary_err err = have == NULL ? gr_fail(GRANARY_ENOMEM, "frames of an input")
                                   : wanted_init(&columns, meta, spilled->info.meta_size, spilled->info.data_size);

    if (err == GRANARY_OK) {
        for (uint32_t i = (uint32_t)(GR_ALIGNED(spilled->info.data_size) / spilled->image.frame_bytes);
             i < spilled->image.record.frames; i++) {
            have[i] = true; /* with the metadata */
        }
        wanted_by_all(run, position, &columns);
    }
    if (err == GRANARY_OK && wanted_is_all(&columns) && was_read(run, spilled->info.serial)) {
        err = GRANARY_ESTATE;
    }
    for (size_t i = 0; err == GRANARY_OK && i < columns.schema.count; i++) {
        if (columns.wanted[i]) {
            err = read_column(spilled, &columns.entries[i], have, bytes);
        }
    }
    if (err == GRANARY_OK) {
        err = gr_directory_read_columns(bytes, spilled->info.data_size, meta, spilled->info.meta_size, columns.wanted,
                                        &input->value.frame);
    }
    if (err == GRANARY_OK) {
        input->value.kind = GR_VALUE_FRAME;
    }
    for (uint32_t i = 0; have != NULL && i < spilled->image.record.frames; i++) {
        run->done->in_bytes += have[i] ? image_frame_size(&spilled->image, i) : 0;
    }
    wanted_fini(&columns);
    free(have);
    return err;
}

/* ---- whether ---- */

/* Whether bringing it back would push something out, and there is memory to read it here. */
static bool
is_to_be_read(struct run *run, const granary_object_info *info, uint64_t taken)
{
    uint64_t footprint = GR_FOOTPRINT(info->data_size, info->meta_size);
    granary_store_stat stat;

    return granary_store_stat_get(run->client, &stat) == GRANARY_OK &&
           stat.free_bytes + stat.pooled_bytes < footprint + stat.capacity_bytes / ROOM_SHARE &&
           taken + footprint <= stat.capacity_bytes / MEMORY_SHARE;
}

static bool
is_kernels_alone(const Granary__Subtask *subtask)
{
    for (size_t o = 0; o < subtask->n_ops; o++) {
        int op = gr_chunk_op_find(subtask->ops[o]->op);

        if (op >= 0 && gr_chunk_op_is_alone((enum gr_chunk_op)op)) {
            return false;
        }
    }
    return true;
}

/* The metadata of a frame object, in their place behind its data. False: it is none, or damaged. */
static bool
read_directory(struct input *input, const struct spilled *spilled)
{
    uint64_t meta_at = GR_ALIGNED(spilled->info.data_size);

    input->read = scratch_alloc(spilled->image.footprint);
    return input->read != NULL && spilled_read(spilled, meta_at, spilled->info.meta_size, input->read) == GRANARY_OK &&
           gr_directory_is(input->read + meta_at, spilled->info.meta_size);
}

/* The frame object, or what is wanted of it. False: the store is to bring it back. */
static bool
read_input(struct run *run, size_t position, uint64_t *taken)
{
    struct input *input = &run->inputs[position];
    struct spilled spilled;
    granary_object_info info;
    uint64_t before = run->done->in_bytes;
    bool good;

    if (granary_object_info_get(run->client, input->id, &info) != GRANARY_OK || info.state != GRANARY_OBJECT_SPILLED ||
        !is_to_be_read(run, &info, *taken) || spilled_open(run->client, input->id, &spilled) != GRANARY_OK) {
        return false;
    }
    good = read_directory(input, &spilled) && read_columns(run, position, &spilled, input->read) == GRANARY_OK;
    spilled_close(&spilled);
    if (!good) {
        run_drop_read(input);
    }
    *taken += good ? run->done->in_bytes - before : 0;
    return good;
}

void
run_read_spilled(struct run *run)
{
    uint64_t taken = 0;

    for (size_t i = 0; i < run->input_count && is_kernels_alone(run->subtask); i++) {
        if (run->inputs[i].part == 0 && !run->inputs[i].foreign) {
            (void)read_input(run, i, &taken);
        }
    }
}

bool
run_outline_spilled(struct run *run, size_t position)
{
    struct input *input = &run->inputs[position];
    const struct spilled *at;
    struct spilled spilled;
    bool good;

    if (spilled_open(run->client, input->id, &spilled) != GRANARY_OK) {
        return false;
    }
    at = &spilled;
    good = read_directory(input, at) &&
           gr_directory_read_columns(NULL, at->info.data_size, input->read + GR_ALIGNED(at->info.data_size),
                                     at->info.meta_size, NULL, &input->value.frame) == GRANARY_OK;
    input->value.kind = good ? GR_VALUE_FRAME : GR_VALUE_NONE;
    spilled_close(&spilled);
    if (!good) {
        run_drop_read(input);
    }
    return good;
}

void
run_drop_read(struct input *input)
{
    if (input->read != NULL) {
        gr_value_free(&input->value);
        scratch_free(input->read);
        input->read = NULL;
    }
}
