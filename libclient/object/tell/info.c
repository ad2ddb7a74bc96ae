/* What an index slot says of an object, as the public API tells it. */
#include "base/error.h"
#include "base/id.h"
#include "base/sized.h"
#include "object/read/probe.h"

static granary_object_state
state_of(enum gr_slot_state state)
{
    switch (state) {
    case GR_SLOT_SPILLED:
    case GR_SLOT_BETWEEN:
        return GRANARY_OBJECT_SPILLED;
    case GR_SLOT_DELETING:
        return GRANARY_OBJECT_DELETING;
    case GR_SLOT_ALIAS:
        return GRANARY_OBJECT_ALIAS;
    default:
        return GRANARY_OBJECT_SEALED;
    }
}

static granary_object_info
alias_info(const struct slot_copy *copy)
{
    return (granary_object_info){
        .id = gr_id_from_words(copy->id[0], copy->id[1]),
        .state = GRANARY_OBJECT_ALIAS,
        .sealed_at_ms = GR_STAMP_MS(copy->stamp),
        .serial = GR_WORD_SERIAL(copy->word),
        .target = gr_id_from_words(copy->offset, copy->data_size),
    };
}

granary_object_info
info_of(const struct slot_copy *copy)
{
    enum gr_slot_state slot_state = GR_WORD_STATE(copy->word);
    granary_object_state state = state_of(slot_state);
    bool on_disk = (copy->flags & GR_FLAG_ON_DISK) != 0 ||
                   (state == GRANARY_OBJECT_SPILLED && (copy->flags & GR_FLAG_REMOTE) == 0);

    if (state == GRANARY_OBJECT_ALIAS) {
        return alias_info(copy);
    }
    return (granary_object_info){
        .id = gr_id_from_words(copy->id[0], copy->id[1]),
        .state = state,
        .data_size = copy->data_size,
        .meta_size = (uint32_t)copy->where_meta,
        .pins = GR_FLAGS_PINS(copy->flags),
        .on_disk = on_disk,
        .numa_node = (int)GR_FLAGS_NODE(copy->flags),
        .sealed_at_ms = GR_STAMP_MS(copy->stamp),
        .levels = (state == GRANARY_OBJECT_SPILLED ? 0u : GRANARY_LEVEL_MEMORY) | (on_disk ? GRANARY_LEVEL_DISK : 0u) |
                  ((copy->flags & GR_FLAG_REMOTE) != 0 ? GRANARY_LEVEL_REMOTE : 0u),
        .importance = (int)GR_FLAGS_IMPORTANCE(copy->flags),
        .next_use = (int)GR_FLAGS_NEXT_USE(copy->flags),
        .persistent = (copy->flags & GR_FLAG_PERSISTENT) != 0,
        .counted = (copy->flags & GR_FLAG_COUNTED) != 0,
        .dropped = (copy->flags & GR_FLAG_DROPPED) != 0,
        .damaged = (copy->flags & GR_FLAG_DAMAGED) != 0,
        .serial = GR_WORD_SERIAL(copy->word),
        .segment = (uint32_t)(copy->where_meta >> 32),
        .offset = copy->offset,
    };
}

granary_err
granary_object_info_get_sized(granary_client *client, granary_id id, granary_object_info *ret_info, size_t info_size)
{
    struct slot_copy copy;
    granary_object_info info;
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    if (!slot_find(client, id, &copy)) {
        return gr_fail(GRANARY_ENOENT, "object %s: not found", id_text(id));
    }
    info = info_of(&copy);
    gr_sized_give(ret_info, info_size, &info, sizeof info);
    return GRANARY_OK;
}

granary_err
gr_client_stamp(granary_client *client, granary_id id, uint64_t *ret_stamp)
{
    struct slot_copy copy;

    if (!slot_find(client, id, &copy)) {
        return gr_fail(GRANARY_ENOENT, "object %s: not found", id_text(id));
    }
    *ret_stamp = copy.stamp;
    return GRANARY_OK;
}
