/* Objects, as granary_object_list_page() and its like tell of them, but without a client. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/id_search.h"
#include "base/sized.h"
#include "inspect/inspector.h"

/* ---- filters ---- */

struct filter {
    struct gr_id_search search;          /* for the beginning of the id only */
    const granary_object_filter *filter; /* NULL: everything */
    granary_id *owned;                   /* what the owner refers to, sorted; NULL when there is no owner to ask for */
    size_t owned_count;
};

static int
by_id(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(granary_id));
}

static granary_err
filter_owned(const granary_inspector *inspector, uint32_t session, const char *owner, struct filter *filter)
{
    struct ledger_copy *records;
    size_t count;
    granary_err err = ledger_read(inspector, session, &records, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    filter->owned = malloc((count + 1) * sizeof *filter->owned);
    if (filter->owned == NULL) {
        free(records);
        return gr_fail(GRANARY_ENOMEM, "no memory for what '%s' refers to", owner);
    }
    for (size_t i = 0; i < count; i++) {
        char text[GR_LEDGER_TEXT];

        copy_text(text, sizeof text, records[i].text, sizeof records[i].text);
        if (LEDGER_KIND(records[i].word) == GR_LEDGER_REFERENCE && strcmp(text, owner) == 0) {
            filter->owned[filter->owned_count++] = gr_id_from_words(records[i].id[0], records[i].id[1]);
        }
    }
    free(records);
    qsort(filter->owned, filter->owned_count, sizeof *filter->owned, by_id);
    return GRANARY_OK;
}

static granary_err
filter_init(const granary_inspector *inspector, uint32_t session, const granary_object_filter *asked,
            struct filter *filter)
{
    granary_err err = GRANARY_OK;

    *filter = (struct filter){.filter = asked};
    if (asked->prefix != NULL) {
        err = gr_id_search_begin(asked->prefix, &filter->search);
    }
    if (err == GRANARY_OK && asked->owner != NULL) {
        err = filter_owned(inspector, session, asked->owner, filter);
    }
    return err;
}

static bool
filter_passes(const struct filter *filter, const granary_object_info *info)
{
    const granary_object_filter *asked = filter->filter;
    uint64_t size = info->data_size + info->meta_size;
    char text[GRANARY_ID_TEXT + 1];

    if (asked == NULL) {
        return true;
    }
    granary_id_format(info->id, text);
    return memcmp(text, filter->search.prefix, filter->search.length) == 0 &&
           (asked->states == 0 || (asked->states & 1u << info->state) != 0) &&
           (asked->levels == 0 || (asked->levels & info->levels) != 0) && size >= asked->least_size &&
           (asked->most_size == 0 || size <= asked->most_size) && (!asked->pinned || info->pins > 0) &&
           (filter->owned == NULL ||
            bsearch(&info->id, filter->owned, filter->owned_count, sizeof *filter->owned, by_id) != NULL);
}

/* ---- listing ---- */

/*
 * A cursor names a position in the mirrored order of pages, the page and the low bits of the generation it had, and
 * the next slot. A page that was split or rebuilt since is read from its first slot again.
 */
#define CURSOR_SLOT(cursor)     ((uint32_t)((cursor)&0xfff))
#define CURSOR_POSITION(cursor) ((uint32_t)((cursor) >> 12 & 0x7fff))
#define CURSOR_PAGE(cursor)     ((cursor) >> 27 & 0x7fff)
#define CURSOR_TIMES(cursor)    ((cursor) >> 42 & 0x1fffff)
#define CURSOR_BEGUN            ((uint64_t)1 << 63) /* a cursor is 0 only at both ends */

static uint64_t
cursor_of(const struct index_page *page, uint32_t slot)
{
    return CURSOR_BEGUN | (uint64_t)(page->generation & 0x1fffff) << 42 | (uint64_t)page->page << 27 |
           (uint64_t)page->position << 12 | slot;
}

/* Where a cursor goes on: the page, and the slot in it. */
static size_t
cursor_seek(const struct index *index, uint64_t cursor, uint32_t *ret_slot)
{
    size_t at = 0;

    *ret_slot = 0;
    if (cursor == 0) {
        return 0;
    }
    /* The page that holds the position: the last one that does not begin behind it. */
    while (at + 1 < index->page_count && index->pages[at + 1].position <= CURSOR_POSITION(cursor)) {
        at++;
    }
    if (at < index->page_count && index->pages[at].page == CURSOR_PAGE(cursor) &&
        (index->pages[at].generation & 0x1fffff) == CURSOR_TIMES(cursor)) {
        *ret_slot = CURSOR_SLOT(cursor);
    }
    return at;
}

/* Fill what fits from one page; *slot is where to begin, and where to go on. */
static size_t
list_page(const struct slot_copy *slots, const struct filter *filter, uint32_t *slot, size_t most,
          granary_object_info *infos)
{
    size_t count = 0;

    for (; *slot < GR_PAGE_SLOTS && count < most; (*slot)++) {
        bool part = (slots[*slot].flags & GR_FLAG_SLICE) != 0; /* of an object: the store's own */

        if (!part && slot_describe(&slots[*slot], &infos[count]) && filter_passes(filter, &infos[count])) {
            count++;
        }
    }
    return count;
}

granary_err
granary_inspect_objects_sized(granary_inspector *inspector, uint32_t session, const granary_object_filter *theirs,
                              uint64_t *cursor, size_t most, granary_object_info *ret_infos, size_t *ret_count,
                              size_t filter_size, size_t info_size)
{
    granary_object_filter asked;
    void *infos = NULL;
    struct slot_copy *slots = malloc(GR_PAGE_BYTES);
    struct index index = INDEX_NONE;
    struct filter filter = {.filter = NULL};
    uint64_t next = 0;
    size_t count = 0;
    uint32_t slot;
    size_t at;
    granary_err err = slots == NULL ? gr_fail(GRANARY_ENOMEM, "no memory for a page of the index") : GRANARY_OK;

    if (err == GRANARY_OK) {
        err = gr_sized_take(&asked, sizeof asked, theirs, filter_size);
    }
    if (err == GRANARY_OK) {
        err = gr_sized_borrow(ret_infos, info_size, sizeof *ret_infos, most, &infos);
    }
    if (err == GRANARY_OK) {
        err = filter_init(inspector, session, &asked, &filter);
    }
    if (err == GRANARY_OK) {
        err = index_read(inspector, session, &index);
    }
    if (err != GRANARY_OK) {
        goto out;
    }
    for (at = cursor_seek(&index, *cursor, &slot); at < index.page_count && count < most; at++, slot = 0) {
        err = index_read_page(&index, index.pages[at].page, slots);
        if (err != GRANARY_OK) {
            goto out;
        }
        count += list_page(slots, &filter, &slot, most - count, (granary_object_info *)infos + count);
        if (slot < GR_PAGE_SLOTS) {
            next = cursor_of(&index.pages[at], slot);
            break;
        }
        if (at + 1 < index.page_count) {
            next = cursor_of(&index.pages[at + 1], 0);
        } else {
            next = 0;
        }
    }
    *cursor = next;
    *ret_count = count;
out:
    gr_sized_return(ret_infos, info_size, infos, sizeof *ret_infos, count);
    index_release(&index);
    free(filter.owned);
    free(slots);
    return err;
}

/* ---- one object ---- */

/* A live object goes before one that is deleted and still leased. */
static granary_err
find_in_page(const struct index *index, const struct index_page *page, const uint64_t id[2], granary_object_info *info,
             bool *found)
{
    struct slot_copy *slots = malloc(GR_PAGE_BYTES);
    granary_err err;

    if (slots == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a page of the index");
    }
    err = index_read_page(index, page->page, slots);
    for (size_t i = 0; i < GR_PAGE_SLOTS && err == GRANARY_OK; i++) {
        granary_object_info one;

        if (slots[i].id[0] == id[0] && slots[i].id[1] == id[1] && slot_describe(&slots[i], &one) &&
            (!*found || info->state == GRANARY_OBJECT_DELETING)) {
            *info = one;
            *found = true;
        }
    }
    free(slots);
    return err;
}

granary_err
granary_inspect_object_sized(granary_inspector *inspector, uint32_t session, granary_id id,
                             granary_object_info *ret_info, size_t info_size)
{
    granary_object_info info;
    bool found = false;
    struct index index;
    char text[GRANARY_ID_TEXT + 1];
    uint64_t words[2];
    uint64_t hash;
    granary_err err = index_read(inspector, session, &index);

    if (err != GRANARY_OK) {
        return err;
    }
    gr_id_words(id, words);
    hash = gr_slot_hash(words[0], words[1]);
    for (size_t i = 0; i < index.page_count && err == GRANARY_OK; i++) {
        const struct index_page *page = &index.pages[i];

        if ((gr_index_prefix(hash) & ((1u << page->depth) - 1)) == page->prefix) {
            err = find_in_page(&index, page, words, &info, &found);
        }
    }
    index_release(&index);
    if (err != GRANARY_OK) {
        return err;
    }
    if (!found) {
        granary_id_format(id, text);
        return gr_fail(GRANARY_ENOENT, "object %s: not found", text);
    }
    gr_sized_give(ret_info, info_size, &info, sizeof info);
    return GRANARY_OK;
}

static granary_err
search_match(void *context, const struct slot_copy *slot)
{
    granary_object_info info;

    if (slot_describe(slot, &info)) {
        gr_id_search_look(context, info.id);
    }
    return GRANARY_OK;
}

granary_err
granary_inspect_object_find(granary_inspector *inspector, uint32_t session, const char *prefix, granary_id *ret_id)
{
    struct gr_id_search search;
    granary_object_info info;
    granary_err err = gr_id_search_begin(prefix, &search);

    if (err != GRANARY_OK) {
        return err;
    }
    if (search.length == GRANARY_ID_TEXT) {
        err = granary_id_parse(prefix, search.length, &search.id);
        if (err == GRANARY_OK) {
            err = granary_inspect_object(inspector, session, search.id, &info);
        }
        search.found = 1;
    } else {
        err = index_walk(inspector, session, search_match, &search);
    }
    return err == GRANARY_OK ? gr_id_search_end(&search, ret_id) : err;
}
