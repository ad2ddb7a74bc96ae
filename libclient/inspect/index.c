/* A session's index, page by page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "inspect/inspector.h"

/* The prefix's bits in the other order, at the top of GR_INDEX_MAX_DEPTH bits: a page's halves lie side by side. */
static uint32_t
mirror(uint32_t prefix)
{
    uint32_t mirrored = 0;

    for (unsigned bit = 0; bit < GR_INDEX_MAX_DEPTH; bit++) {
        mirrored |= (prefix >> bit & 1) << (GR_INDEX_MAX_DEPTH - 1 - bit);
    }
    return mirrored;
}

static int
by_position(const void *left, const void *right)
{
    const struct index_page *a = left;
    const struct index_page *b = right;

    if (a->position != b->position) {
        return a->position < b->position ? -1 : 1;
    }
    return a->page < b->page ? -1 : a->page > b->page;
}

/* Take a page unless one that counts is there already. covered: a flag for each entry of the directory. */
static void
take_page(struct index *index, bool *covered, uint32_t page, uint32_t generation, uint32_t prefix, unsigned depth)
{
    size_t entries = (size_t)1 << index->depth;

    if (depth > index->depth || prefix >= (uint64_t)1 << depth || index->page_count >= GR_INDEX_MAX_PAGES ||
        covered[prefix]) {
        return;
    }
    index->pages[index->page_count++] = (struct index_page){
        .page = page, .generation = generation, .prefix = prefix, .depth = depth, .position = mirror(prefix)};
    for (size_t i = prefix; i < entries; i += (size_t)1 << depth) {
        covered[i] = true;
    }
}

static void
take_pages(struct index *index, bool *covered, unsigned state)
{
    for (uint32_t page = 0; page < GR_INDEX_MAX_PAGES; page++) {
        uint64_t word = index->records[page].word;

        if (GR_PAGE_STATE(word) == state && index->records[page].prefix < GR_INDEX_MAX_PAGES) {
            take_page(index, covered, page, GR_PAGE_GENERATION(word), (uint32_t)index->records[page].prefix,
                      GR_PAGE_DEPTH(word));
        }
    }
}

static granary_err
find_pages(struct index *index)
{
    size_t entries = (size_t)1 << index->depth;
    bool *covered = calloc(entries, sizeof *covered);

    index->pages = calloc(GR_INDEX_MAX_PAGES, sizeof *index->pages);
    if (covered == NULL || index->pages == NULL) {
        free(covered);
        return gr_fail(GRANARY_ENOMEM, "%s: no memory for its pages", index->file.name);
    }
    take_pages(index, covered, GR_PAGE_LIVE);
    take_pages(index, covered, GR_PAGE_BUILDING);
    for (size_t i = 0; i < entries; i++) {
        uint32_t page = (uint32_t)index->directory[i];

        if (!covered[i] && page < GR_INDEX_MAX_PAGES) {
            take_page(index, covered, page, (uint32_t)(index->directory[i] >> 32), (uint32_t)i, index->depth);
        }
    }
    qsort(index->pages, index->page_count, sizeof *index->pages, by_position);
    free(covered);
    return GRANARY_OK;
}

granary_err
index_read(const struct granary_inspector *inspector, uint32_t session, struct index *ret_index)
{
    struct index index = INDEX_NONE;
    struct control_copy control;
    char name[96];
    granary_err err = control_read(inspector, session, &control);

    if (err != GRANARY_OK) {
        return err;
    }
    index.depth = control.depth;
    file_name(name, session, "index", NO_NUMBER);
    err = file_open(inspector, name, &index.file);
    if (err != GRANARY_OK) {
        return err;
    }
    index.directory = calloc((size_t)1 << index.depth, sizeof *index.directory);
    index.records = calloc(GR_INDEX_MAX_PAGES, sizeof *index.records);
    if (index.directory == NULL || index.records == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "%s: no memory for its directory", name);
    }
    if (err == GRANARY_OK) {
        err = file_read_records(&index.file, GR_INDEX_DIRECTORY_AT, index.directory, sizeof *index.directory,
                                (size_t)1 << index.depth);
    }
    if (err == GRANARY_OK) {
        err = file_read_records(&index.file, GR_INDEX_RECORDS_AT, index.records, sizeof *index.records,
                                GR_INDEX_MAX_PAGES);
    }
    if (err == GRANARY_OK) {
        err = find_pages(&index);
    }
    if (err != GRANARY_OK) {
        index_release(&index);
        return err;
    }
    *ret_index = index;
    return GRANARY_OK;
}

void
index_release(struct index *index)
{
    file_close(&index->file);
    free(index->directory);
    free(index->records);
    free(index->pages);
    *index = INDEX_NONE;
}

granary_err
index_read_page(const struct index *index, uint32_t page, struct slot_copy ret_slots[GR_PAGE_SLOTS])
{
    return file_read_records(&index->file, GR_INDEX_PAGES_AT + page * GR_PAGE_BYTES, ret_slots, sizeof *ret_slots,
                             GR_PAGE_SLOTS);
}

bool
slot_footprint(const struct slot_copy *slot, uint64_t *ret_bytes)
{
    uint64_t meta_size = slot->where_meta & UINT32_MAX;

    if (slot->data_size > GR_MAX_OBJECT || meta_size > GR_MAX_META) {
        return false;
    }
    *ret_bytes = GR_FOOTPRINT(slot->data_size, meta_size);
    return true;
}

bool
slot_describe(const struct slot_copy *slot, granary_object_info *ret_info)
{
    enum gr_slot_state state = GR_WORD_STATE(slot->word);
    bool on_disk = (slot->flags & GR_FLAG_ON_DISK) != 0;
    granary_object_info info = {
        .id = gr_id_from_words(slot->id[0], slot->id[1]),
        .data_size = slot->data_size,
        .meta_size = slot->where_meta & UINT32_MAX,
        .pins = GR_FLAGS_PINS(slot->flags),
        .numa_node = (int)GR_FLAGS_NODE(slot->flags),
        .sealed_at_ms = GR_STAMP_MS(slot->stamp),
        .importance = (int)GR_FLAGS_IMPORTANCE(slot->flags),
        .next_use = (int)GR_FLAGS_NEXT_USE(slot->flags),
        .persistent = (slot->flags & GR_FLAG_PERSISTENT) != 0,
        .counted = (slot->flags & GR_FLAG_COUNTED) != 0,
        .dropped = (slot->flags & GR_FLAG_DROPPED) != 0,
        .damaged = (slot->flags & GR_FLAG_DAMAGED) != 0,
        .serial = GR_WORD_SERIAL(slot->word),
        .segment = (uint32_t)(slot->where_meta >> 32),
        .offset = slot->offset,
    };

    switch (state) {
    case GR_SLOT_SEALED:
    case GR_SLOT_RETIRING:
        info.state = GRANARY_OBJECT_SEALED;
        info.levels = GRANARY_LEVEL_MEMORY;
        break;
    case GR_SLOT_DELETING:
        info.state = GRANARY_OBJECT_DELETING;
        info.levels = GRANARY_LEVEL_MEMORY;
        break;
    case GR_SLOT_SPILLED:
    case GR_SLOT_BETWEEN:
        info.state = GRANARY_OBJECT_SPILLED;
        on_disk = (slot->flags & GR_FLAG_REMOTE) == 0 || on_disk;
        break;
    case GR_SLOT_ALIAS:
        *ret_info = (granary_object_info){.id = info.id,
                                          .state = GRANARY_OBJECT_ALIAS,
                                          .target = gr_id_from_words(slot->offset, slot->data_size),
                                          .serial = info.serial,
                                          .sealed_at_ms = info.sealed_at_ms};
        return true;
    default:
        return false;
    }
    info.on_disk = on_disk;
    info.levels |= on_disk ? GRANARY_LEVEL_DISK : 0u;
    info.levels |= (slot->flags & GR_FLAG_REMOTE) != 0 ? GRANARY_LEVEL_REMOTE : 0u;
    *ret_info = info;
    return true;
}

granary_err
index_walk(const struct granary_inspector *inspector, uint32_t session, slot_fn *each, void *context)
{
    struct index index;
    granary_err err = index_read(inspector, session, &index);
    struct slot_copy *slots;

    if (err != GRANARY_OK) {
        return err;
    }
    slots = malloc(GR_PAGE_BYTES);
    if (slots == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "%s: no memory for a page", index.file.name);
    }
    for (size_t i = 0; i < index.page_count && err == GRANARY_OK; i++) {
        err = index_read_page(&index, index.pages[i].page, slots);
        for (size_t s = 0; s < GR_PAGE_SLOTS && err == GRANARY_OK; s++) {
            enum gr_slot_state state = GR_WORD_STATE(slots[s].word);

            if (state != GR_SLOT_EMPTY && state != GR_SLOT_TOMB && state != GR_SLOT_MOVED) {
                err = each(context, &slots[s]);
            }
        }
    }
    free(slots);
    index_release(&index);
    return err;
}
