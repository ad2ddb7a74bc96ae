#include "executor/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "executor/subtask_private.h"
#include "kernel/core/scratch.h"

/* Executors together keep no more than a small part of the store for frames they lease. */
#define PIN_SHARE 32
/* Tables of more frames are read each time. */
#define KEPT_ENTRIES 2048

#define ALIGNED(size) (((size) + 63) / 64 * 64)

void
parts_destroy(struct parts *parts)
{
    for (size_t i = 0; i < PARTS_TABLES; i++) {
        free(parts->tables[i].entries);
    }
    *parts = (struct parts){0};
}

/* ---- where a frame is ---- */

static granary_err
read_head(granary_client *client, granary_id id, struct gr_packed_head *ret_head)
{
    granary_view view;
    granary_err err = granary_object_get_range(client, id, 0, sizeof *ret_head, 0, &view);

    if (err == GRANARY_OK) {
        memcpy(ret_head, view.data, sizeof *ret_head);
        granary_object_release(client, &view);
    }
    return err;
}

static granary_err
read_entries(granary_client *client, granary_id id, uint32_t first, uint32_t count, struct gr_packed_entry *ret_entries)
{
    granary_view view;
    granary_err err =
        granary_object_get_range(client, id, gr_packed_entry_at(first), count * sizeof *ret_entries, 0, &view);

    if (err == GRANARY_OK) {
        memcpy(ret_entries, view.data, count * sizeof *ret_entries);
        granary_object_release(client, &view);
    }
    return err;
}

/* Keep where all frames of an object are. Without memory for that, they are read again when they are wanted. */
static granary_err
keep_table(granary_client *client, granary_id id, uint64_t serial, const struct gr_packed_head *head,
           struct parts_table *table)
{
    struct gr_packed_entry *entries = malloc(head->count * sizeof *entries);
    granary_err err = entries == NULL ? GRANARY_OK : read_entries(client, id, 0, head->count, entries);

    if (entries == NULL || err != GRANARY_OK) {
        free(entries);
        return err;
    }
    free(table->entries);
    *table = (struct parts_table){.serial = serial, .head = *head, .entries = entries};
    return GRANARY_OK;
}

static granary_err
find_entry(struct parts *parts, granary_client *client, granary_id id, uint64_t serial, uint32_t part,
           struct gr_packed_entry *ret_entry)
{
    struct parts_table *table = &parts->tables[serial % PARTS_TABLES];
    struct gr_packed_head head = table->head;
    struct gr_packed_entry entry = {0};
    granary_err err = GRANARY_OK;

    if (table->serial != serial || serial == 0) {
        err = read_head(client, id, &head);
        if (err == GRANARY_OK) { /* that there is such a frame; where it is is looked at below */
            err = gr_packed_check(&head, &entry, part, UINT64_MAX / 2, ret_entry);
        }
        if (err == GRANARY_OK && serial != 0 && head.count <= KEPT_ENTRIES) {
            err = keep_table(client, id, serial, &head, table);
        }
    }
    if (err == GRANARY_OK && table->serial == serial && serial != 0 && part < table->head.count) {
        entry = table->entries[part];
    } else if (err == GRANARY_OK) {
        err = read_entries(client, id, part, 1, &entry);
    }
    /* Beyond the object its range is refused. */
    return err == GRANARY_OK ? gr_packed_check(&head, &entry, part, UINT64_MAX / 2, ret_entry) : err;
}

/* ---- its bytes ---- */

static uint64_t
length_of(const struct gr_packed_entry *entry)
{
    return entry->meta_offset + entry->meta_size - entry->data_offset;
}

uint64_t
parts_capacity(struct parts *parts, granary_client *client)
{
    granary_store_stat stat;

    if (parts->capacity_bytes == 0 && granary_store_stat_get(client, &stat) == GRANARY_OK) {
        parts->capacity_bytes = stat.capacity_bytes;
    }
    return parts->capacity_bytes > 0 ? parts->capacity_bytes : UINT64_MAX;
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
            err = find_entry(parts, run->client, input->id, info.serial, input->part - 1, &input->entry);
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
parts_get(struct run *run, size_t *ret_failed)
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
