/* The slices of each object: a list by its stamp, pruned when one is added, dropped with the object. */
#include "store/object/slice.h"

#include <stdlib.h>

#include "store/object/object.h"

/* One that was made for a parent; it may be gone, then its serial is found no more. */
struct slice {
    struct slice *next;
    granary_id id;
    uint64_t serial;
};

/* Forget those of a list that are gone. */
static struct slice *
prune(struct session *session, struct slice *slices)
{
    struct slice **at = &slices;

    while (*at != NULL) {
        struct slice *slice = *at;

        if (index_find_serial(&session->index, slice->id, slice->serial) == NULL) {
            *at = slice->next;
            free(slice);
        } else {
            at = &slice->next;
        }
    }
    return slices;
}

bool
slice_book(struct session *session, uint64_t stamp, granary_id id, struct segment *segment, uint64_t offset,
           uint64_t size)
{
    struct slice *slice = malloc(sizeof *slice);
    struct map_entry *entry = map_add(&session->slices, map_key_number(stamp));
    uint64_t serial;

    if (slice == NULL || entry == NULL || !object_slice(session, id, segment, offset, size, &serial)) {
        if (entry != NULL && entry->value.pointer == NULL) {
            map_remove(&session->slices, entry);
        }
        free(slice);
        return false;
    }
    *slice = (struct slice){.next = prune(session, entry->value.pointer), .id = id, .serial = serial};
    entry->value.pointer = slice;
    return true;
}

void
slices_drop(struct session *session, uint64_t stamp)
{
    struct map_entry *entry = session->slices.count == 0 ? NULL : map_find(&session->slices, map_key_number(stamp));
    struct slice *slice = entry == NULL ? NULL : entry->value.pointer;

    if (entry != NULL) {
        map_remove(&session->slices, entry);
    }
    while (slice != NULL) {
        struct slice *next = slice->next;
        struct gr_slot *slot = index_find(&session->index, slice->id);

        if (slot != NULL && GR_WORD_SERIAL(slot_word(slot)) == slice->serial) {
            object_drop_slice(session, slot);
        }
        free(slice);
        slice = next;
    }
}

void
slices_fini(struct session *session)
{
    struct map_entry *entry;
    size_t position = 0;

    while ((entry = map_next(&session->slices, &position)) != NULL) {
        for (struct slice *slice = entry->value.pointer, *next; slice != NULL; slice = next) {
            next = slice->next;
            free(slice);
        }
    }
    map_free(&session->slices);
}
