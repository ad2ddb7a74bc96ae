#include "store/index.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "store/barrier.h"
#include "store/shmfile.h"

/* A table is replaced when more than this share of its slots is not EMPTY: probes stay short. */
#define FULL_PERCENT 78u
/* ... by one of the same size when tombstones were the reason. */
#define DOUBLE_PERCENT 40u

struct slot_key {
    uint64_t words[2];
    uint64_t hash;
};

static struct slot_key
key_of(granary_id id)
{
    struct slot_key key;

    gr_id_words(id, key.words);
    key.hash = gr_slot_hash(key.words[0], key.words[1]);
    return key;
}

static bool
slot_has(const struct gr_slot *slot, const struct slot_key *key)
{
    return atomic_load_explicit(&slot->id[0], memory_order_relaxed) == key->words[0] &&
           atomic_load_explicit(&slot->id[1], memory_order_relaxed) == key->words[1];
}

static bool
is_present(enum gr_slot_state state)
{
    return state == GR_SLOT_SEALED || state == GR_SLOT_SPILLED || state == GR_SLOT_RETIRING;
}

static granary_err
table_create(const struct index *index, uint32_t number, uint64_t size, struct gr_slot **ret_slots)
{
    char name[96];
    void *bytes;
    granary_err err;
    int fd = -1;

    shmfile_name(name, index->prefix, index->session, "table", number);
    err = shmfile_create_mapped(name, size * sizeof(struct gr_slot), &fd, &bytes);
    if (err != GRANARY_OK) {
        return err;
    }
    gr_fd_close(&fd);
    (void)madvise(bytes, size * sizeof(struct gr_slot), MADV_DONTFORK);
    *ret_slots = bytes;
    return GRANARY_OK;
}

static void
table_destroy(const struct index *index)
{
    char name[96];

    shmfile_name(name, index->prefix, index->session, "table", index->number);
    (void)munmap(index->slots, index->size * sizeof(struct gr_slot));
    (void)shm_unlink(name);
}

static void
publish(struct index *index)
{
    uint64_t log2 = 63u - (uint64_t)__builtin_clzll(index->size);

    atomic_store_explicit(index->published, (uint64_t)index->number << 8 | log2, memory_order_release);
}

granary_err
index_init(struct index *index, const char *prefix, uint32_t session, _Atomic uint64_t *published)
{
    granary_err err;

    *index = (struct index){
        .size = (uint64_t)1 << INDEX_FIRST_LOG2, .number = 1, .session = session, .published = published};
    (void)snprintf(index->prefix, sizeof index->prefix, "%s", prefix);
    err = table_create(index, index->number, index->size, &index->slots);
    if (err == GRANARY_OK) {
        publish(index);
    }
    return err;
}

void
index_fini(struct index *index)
{
    if (index->slots != NULL) {
        table_destroy(index);
        index->slots = NULL;
    }
}

struct gr_slot *
index_find(const struct index *index, granary_id id)
{
    struct slot_key key = key_of(id);

    for (uint64_t at = key.hash;; at++) {
        struct gr_slot *slot = &index->slots[at & (index->size - 1)];
        enum gr_slot_state state = GR_WORD_STATE(slot_word(slot));

        if (state == GR_SLOT_EMPTY) {
            return NULL;
        }
        if (is_present(state) && slot_has(slot, &key)) {
            return slot;
        }
    }
}

struct gr_slot *
index_find_serial(const struct index *index, granary_id id, uint64_t serial)
{
    struct slot_key key = key_of(id);

    for (uint64_t at = key.hash;; at++) {
        struct gr_slot *slot = &index->slots[at & (index->size - 1)];
        uint64_t word = slot_word(slot);

        if (GR_WORD_STATE(word) == GR_SLOT_EMPTY) {
            return NULL;
        }
        if (GR_WORD_STATE(word) != GR_SLOT_TOMB && GR_WORD_SERIAL(word) == serial) {
            return slot;
        }
    }
}

static void
slot_write_fields(struct gr_slot *slot, const struct index_object *object)
{
    uint64_t words[2];

    gr_id_words(object->id, words);
    atomic_store_explicit(&slot->id[0], words[0], memory_order_relaxed);
    atomic_store_explicit(&slot->id[1], words[1], memory_order_relaxed);
    atomic_store_explicit(&slot->offset, object->offset, memory_order_relaxed);
    atomic_store_explicit(&slot->data_size, object->data_size, memory_order_relaxed);
    atomic_store_explicit(&slot->where_meta, (uint64_t)object->where << 32 | object->meta_size, memory_order_relaxed);
    atomic_store_explicit(&slot->flags, object->flags, memory_order_relaxed);
    atomic_store_explicit(&slot->stamp, object->stamp, memory_order_relaxed);
}

void
slot_rewrite(struct gr_slot *slot, const struct index_object *object, enum gr_slot_state state)
{
    /* A reader that copies the fields meanwhile finds another word afterwards. */
    atomic_store_explicit(&slot->word, GR_WORD(object->serial, GR_SLOT_RETIRING), memory_order_relaxed);
    barrier_release();
    slot_write_fields(slot, object);
    atomic_store_explicit(&slot->word, GR_WORD(object->serial, state), memory_order_release);
}

struct index_object
slot_object(const struct gr_slot *slot)
{
    uint64_t where_meta = atomic_load_explicit(&slot->where_meta, memory_order_relaxed);

    return (struct index_object){
        .id = gr_id_from_words(atomic_load_explicit(&slot->id[0], memory_order_relaxed),
                               atomic_load_explicit(&slot->id[1], memory_order_relaxed)),
        .serial = GR_WORD_SERIAL(slot_word(slot)),
        .offset = atomic_load_explicit(&slot->offset, memory_order_relaxed),
        .data_size = atomic_load_explicit(&slot->data_size, memory_order_relaxed),
        .meta_size = (uint32_t)where_meta,
        .where = (uint32_t)(where_meta >> 32),
        .flags = slot_flags(slot),
        .stamp = atomic_load_explicit(&slot->stamp, memory_order_relaxed),
    };
}

/* Copy what lives into the new table and remember where it went. Nobody reads the new one yet. */
static void
copy_slots(struct index *to, const struct index *from, uint32_t *new_place)
{
    for (uint64_t i = 0; i < from->size; i++) {
        struct gr_slot *old = &from->slots[i];
        uint64_t word = slot_word(old);
        enum gr_slot_state state = GR_WORD_STATE(word);
        struct index_object object;
        struct slot_key key;
        uint64_t at;

        new_place[i] = UINT32_MAX;
        if (state == GR_SLOT_EMPTY || state == GR_SLOT_TOMB) {
            continue;
        }
        object = slot_object(old);
        key = key_of(object.id);
        for (at = key.hash & (to->size - 1); GR_WORD_STATE(slot_word(&to->slots[at])) != GR_SLOT_EMPTY;) {
            at = (at + 1) & (to->size - 1);
        }
        slot_write_fields(&to->slots[at], &object);
        atomic_store_explicit(&to->slots[at].word, word, memory_order_release);
        new_place[i] = (uint32_t)at;
        to->filled++;
        to->objects++;
    }
}

static granary_err
grow(struct index *index)
{
    struct index bigger = *index;
    uint32_t *new_place;
    granary_err err;

    if (index->objects * 100 >= index->size * DOUBLE_PERCENT) {
        bigger.size *= 2;
    }
    if (bigger.size > (uint64_t)1 << 31) {
        return gr_fail(GRANARY_EFULL, "the index of a session holds at most 2^31 slots");
    }
    bigger.number++;
    bigger.filled = 0;
    bigger.objects = 0;
    bigger.growths++;
    new_place = malloc(index->size * sizeof *new_place);
    if (new_place == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to grow the index of a session");
    }
    err = table_create(&bigger, bigger.number, bigger.size, &bigger.slots);
    if (err != GRANARY_OK) {
        free(new_place);
        return gr_fail_in(GRANARY_EFULL, "the index of a session cannot grow");
    }
    copy_slots(&bigger, index, new_place);
    publish(&bigger);
    for (uint64_t i = 0; i < index->size; i++) {
        uint64_t serial = GR_WORD_SERIAL(slot_word(&index->slots[i]));

        atomic_store_explicit(&index->slots[i].word, GR_WORD(serial, GR_SLOT_MOVED), memory_order_relaxed);
    }
    /* A hazard published after a look at the old word is seen by every retirement from here on. */
    barrier_full();
    if (index->moved != NULL) {
        index->moved(index->context, new_place);
    }
    free(new_place);
    table_destroy(index);
    *index = bigger;
    return GRANARY_OK;
}

granary_err
index_insert(struct index *index, const struct index_object *object, struct gr_slot **ret_slot)
{
    struct slot_key key = key_of(object->id);
    struct gr_slot *place = NULL;
    granary_err err;

    if ((index->filled + 1) * 100 > index->size * FULL_PERCENT && (err = grow(index)) != GRANARY_OK &&
        index->filled + index->size / 16 > index->size) {
        return err;
    }
    for (uint64_t at = key.hash;; at++) {
        struct gr_slot *slot = &index->slots[at & (index->size - 1)];
        enum gr_slot_state state = GR_WORD_STATE(slot_word(slot));

        if (state == GR_SLOT_TOMB && place == NULL) {
            place = slot;
        }
        if (state == GR_SLOT_EMPTY) {
            index->filled += place == NULL;
            place = place == NULL ? slot : place;
            break;
        }
        if (is_present(state) && slot_has(slot, &key)) {
            return GRANARY_EEXIST;
        }
    }
    /* Readers of what lay here before have seen its word change long ago; they check it once more. */
    barrier_release();
    slot_write_fields(place, object);
    atomic_store_explicit(&place->word, GR_WORD(object->serial, GR_SLOT_SEALED), memory_order_release);
    index->objects++;
    *ret_slot = place;
    return GRANARY_OK;
}

void
index_remove(struct index *index, struct gr_slot *slot)
{
    uint64_t mask = index->size - 1;
    uint64_t at = (uint64_t)(slot - index->slots);

    assert(GR_WORD_STATE(slot_word(slot)) > GR_SLOT_TOMB);

    index->objects--;
    atomic_store_explicit(&slot->word, GR_WORD(0, GR_SLOT_TOMB), memory_order_release);
    /* A tombstone in front of an empty slot helps no probe. */
    if (GR_WORD_STATE(slot_word(&index->slots[(at + 1) & mask])) != GR_SLOT_EMPTY) {
        return;
    }
    while (GR_WORD_STATE(slot_word(&index->slots[at])) == GR_SLOT_TOMB) {
        atomic_store_explicit(&index->slots[at].word, GR_WORD(0, GR_SLOT_EMPTY), memory_order_release);
        index->filled--;
        at = (at - 1) & mask;
    }
}

struct gr_slot *
index_next(const struct index *index, uint64_t *position)
{
    while (*position < index->size) {
        struct gr_slot *slot = &index->slots[(*position)++];

        if (GR_WORD_STATE(slot_word(slot)) > GR_SLOT_TOMB) {
            return slot;
        }
    }
    return NULL;
}
