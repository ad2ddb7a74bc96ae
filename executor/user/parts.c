/*
 * Tables of frames are kept by the object's serial in as many places as there is room for: a new one takes the place
 * of the old one.
 */
#include "executor/user/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Tables of more frames are read each time. */
#define KEPT_ENTRIES 2048

void
parts_destroy(struct parts *parts)
{
    for (size_t i = 0; i < PARTS_TABLES; i++) {
        free(parts->tables[i].entries);
    }
    *parts = (struct parts){0};
}

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

granary_err
parts_find(struct parts *parts, granary_client *client, granary_id id, uint64_t serial, uint32_t part,
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

uint64_t
parts_capacity(struct parts *parts, granary_client *client)
{
    granary_store_stat stat;

    if (parts->capacity_bytes == 0 && granary_store_stat_get(client, &stat) == GRANARY_OK) {
        parts->capacity_bytes = stat.capacity_bytes;
    }
    return parts->capacity_bytes > 0 ? parts->capacity_bytes : UINT64_MAX;
}
