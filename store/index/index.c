/* The index as extendible hashing: a directory doubles, and a full page is split. */
#include "store/index/index.h"

#include "base/error.h"
#include "base/id.h"
#include "store/index/index_parts.h"

#define ALIASES (1u << GR_SLOT_ALIAS)

static struct gr_slot *
find(const struct index *index, granary_id id, unsigned states)
{
    struct slot_key key = slot_key_of(id);

    return page_find(index_slots(index, index_page_of(index, gr_index_prefix(key.hash))), &key, states);
}

struct gr_slot *
index_find(const struct index *index, granary_id id)
{
    return find(index, id, INDEX_PRESENT);
}

struct gr_slot *
index_find_serial(const struct index *index, granary_id id, uint64_t serial)
{
    struct slot_key key = slot_key_of(id);

    return page_find_serial(index_slots(index, index_page_of(index, gr_index_prefix(key.hash))), gr_page_home(key.hash),
                            serial, UINT64_MAX);
}

/* A slot for the id in a page that is not too full; NULL with the error set. The page may be split over and over. */
static struct gr_slot *
make_place(struct index *index, uint64_t hash, uint32_t *ret_page)
{
    for (;;) {
        uint32_t page = index_page_of(index, gr_index_prefix(hash));
        struct gr_slot *place = page_place(index_slots(index, page), hash);

        *ret_page = page;
        if (place != NULL && (slot_state(place) == GR_SLOT_TOMB || index->pages[page].counts.filled < PAGE_FULL)) {
            return place;
        }
        if (index_relieve(index, page) != GRANARY_OK) {
            return place; /* it has room still, if none to spare; else the error is set */
        }
    }
}

static granary_err
insert(struct index *index, const struct index_object *object, enum gr_slot_state state, struct gr_slot **ret_slot)
{
    struct slot_key key = slot_key_of(object->id);
    struct gr_slot *place;
    uint32_t page;

    place = make_place(index, key.hash, &page);
    if (place == NULL) {
        return gr_fail_in(GRANARY_EFULL, "the index of session %u", index->session);
    }
    page_insert(&index->pages[page].counts, place, object, state);
    *ret_slot = place;
    return GRANARY_OK;
}

static granary_err
insert_object(struct index *index, const struct index_object *object, enum gr_slot_state state,
              struct gr_slot **ret_slot)
{
    granary_err err;

    if (find(index, object->id, INDEX_PRESENT | ALIASES) != NULL) {
        return GRANARY_EEXIST;
    }
    err = insert(index, object, state, ret_slot);
    index->objects += err == GRANARY_OK;
    return err;
}

granary_err
index_insert(struct index *index, const struct index_object *object, struct gr_slot **ret_slot)
{
    return insert_object(index, object, GR_SLOT_SEALED, ret_slot);
}

granary_err
index_insert_spilled(struct index *index, const struct index_object *object, struct gr_slot **ret_slot)
{
    return insert_object(index, object, GR_SLOT_SPILLED, ret_slot);
}

void
index_remove(struct index *index, struct gr_slot *slot)
{
    uint32_t page = (uint32_t)((uint64_t)((char *)slot - index->base - GR_INDEX_PAGES_AT) / GR_PAGE_BYTES);

    index->objects -= slot_state(slot) != GR_SLOT_ALIAS;
    page_remove(index_slots(index, page), &index->pages[page].counts, slot);
}

struct gr_slot *
index_next(const struct index *index, uint64_t *position)
{
    while (*position < (uint64_t)index->page_count * GR_PAGE_SLOTS) {
        uint32_t page = (uint32_t)(*position / GR_PAGE_SLOTS);
        struct gr_slot *slot = &index_slots(index, page)[*position % GR_PAGE_SLOTS];

        if (GR_PAGE_STATE(index_page_word(index, page)) != GR_PAGE_LIVE) {
            *position = ((uint64_t)page + 1) * GR_PAGE_SLOTS;
            continue;
        }
        ++*position;
        if (slot_is_taken(slot)) {
            return slot;
        }
    }
    return NULL;
}

/* ---- aliases ---- */

struct gr_slot *
index_find_alias(const struct index *index, granary_id alias)
{
    return find(index, alias, ALIASES);
}

granary_id
index_alias_target(const struct gr_slot *slot)
{
    return gr_id_from_words(atomic_load_explicit(&slot->offset, memory_order_relaxed),
                            atomic_load_explicit(&slot->data_size, memory_order_relaxed));
}

granary_id
index_resolve(const struct index *index, granary_id id)
{
    const struct gr_slot *slot = index_find_alias(index, id);

    for (unsigned hops = 0; slot != NULL && hops < INDEX_ALIAS_HOPS; hops++) {
        id = index_alias_target(slot);
        slot = index_find_alias(index, id);
    }
    return id;
}

static struct index_object
alias_object(granary_id alias, granary_id target, uint64_t serial, uint64_t stamp)
{
    uint64_t words[2];

    gr_id_words(target, words);
    return (struct index_object){
        .id = alias, .serial = serial, .offset = words[0], .data_size = words[1], .stamp = stamp};
}

granary_err
index_insert_alias(struct index *index, granary_id alias, granary_id target, uint64_t serial, uint64_t stamp,
                   struct gr_slot **ret_slot)
{
    struct index_object object = alias_object(alias, target, serial, stamp);

    if (find(index, alias, INDEX_PRESENT | ALIASES) != NULL) {
        return GRANARY_EEXIST;
    }
    return insert(index, &object, GR_SLOT_ALIAS, ret_slot);
}

/* A second slot first, then the old one goes: a store that dies between the two leaves both, and the newer counts. */
granary_err
index_repoint_alias(struct index *index, granary_id alias, granary_id target, uint64_t serial)
{
    struct gr_slot *slot = index_find_alias(index, alias);
    struct index_object old, fresh;
    granary_err err;

    if (slot == NULL) {
        return GRANARY_ENOENT;
    }
    old = slot_object(slot);
    fresh = alias_object(alias, target, serial, old.stamp);
    err = insert(index, &fresh, GR_SLOT_ALIAS, &slot);
    if (err == GRANARY_OK) {
        index_remove(index, index_find_serial(index, alias, old.serial));
    }
    return err;
}

/* ---- places ---- */

struct index_place
index_place_of(granary_id id, uint64_t serial)
{
    uint64_t hash = slot_key_of(id).hash;

    return (struct index_place){gr_page_home(hash) << GR_INDEX_MAX_DEPTH | gr_index_prefix(hash), (uint32_t)serial};
}

struct gr_slot *
index_at(const struct index *index, const struct index_place *place)
{
    uint32_t prefix = place->probe & (GR_INDEX_MAX_PAGES - 1);

    return page_find_serial(index_slots(index, index_page_of(index, prefix)), place->probe >> GR_INDEX_MAX_DEPTH,
                            place->serial_low, UINT32_MAX);
}
