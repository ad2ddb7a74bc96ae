/*
 * Taking over the index of a store that died. Every step here can be the last one, too: it is done again then.
 *
 * Pages in BUILDING say that a page was being replaced. While that one is LIVE the new ones are dropped; once it is
 * DEAD they are complete and take its place.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "store/index/index_parts.h"

static granary_err
corrupt(const struct index *index, const char *what)
{
    return gr_fail(GRANARY_ECORRUPT, "the index of session %u is damaged: %s", index->session, what);
}

/*
 * How many pages have ever been used; read, not mapped, for behind most records there is no memory. A page has memory
 * before it has a record, and all pages before it have records: one record that is damaged does not make the index grow
 * by gigabytes. The records count as well as the memory, for a copy that was restored may have holes for zeros.
 */
static granary_err
count_pages(struct index *index)
{
    size_t size = GR_INDEX_MAX_PAGES * sizeof(struct gr_page_record);
    char *records = malloc(size);
    struct stat st;
    granary_err err;
    uint64_t word;
    uint64_t used = 0, most;

    if (records == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to adopt the index of session %u", index->session);
    }
    err = fstat(index->fd, &st) < 0 ? gr_fail_errno("fstat")
                                    : gr_pread_all(index->fd, records, size, (int64_t)GR_INDEX_RECORDS_AT);
    if (err != GRANARY_OK) {
        err = gr_fail_in(err, "the index of session %u", index->session);
    }
    for (uint32_t page = 0; err == GRANARY_OK && page < GR_INDEX_MAX_PAGES; page++) {
        memcpy(&word, records + page * sizeof(struct gr_page_record), sizeof word);
        used += word != 0;
    }
    most = err == GRANARY_OK ? (uint64_t)st.st_blocks * 512 / GR_PAGE_BYTES : 0;
    most = most > used ? most : used;
    most = most < GR_INDEX_MAX_PAGES ? most : GR_INDEX_MAX_PAGES;
    for (uint32_t page = 0; page < most; page++) {
        memcpy(&word, records + page * sizeof(struct gr_page_record), sizeof word);
        if (word != 0) {
            index->page_count = page + 1;
        }
    }
    free(records);
    return err;
}

static granary_err
back_everything(struct index *index)
{
    granary_err err = count_pages(index);

    if (err == GRANARY_OK) {
        err = index_grow_directory(index, index_depth(index));
    }
    if (err == GRANARY_OK) {
        err = index_grow_records(index, index->page_count);
    }
    return err == GRANARY_OK ? index_back(index, GR_INDEX_PAGES_AT, 0, index->page_count * GR_PAGE_BYTES) : err;
}

static granary_err
check_records(const struct index *index)
{
    for (uint32_t page = 0; page < index->page_count; page++) {
        uint64_t word = index_page_word(index, page);
        enum gr_page_state state = GR_PAGE_STATE(word);

        if (state > GR_PAGE_DEAD ||
            (state != GR_PAGE_FREE && (GR_PAGE_DEPTH(word) > index_depth(index) ||
                                       index_page_prefix(index, page) >= 1u << GR_PAGE_DEPTH(word)))) {
            return corrupt(index, "a page's record is impossible");
        }
    }
    return GRANARY_OK;
}

/* The page that one in BUILDING was to replace, or a part of which: LIVE still, or DEAD. */
static uint32_t
find_old(const struct index *index, uint32_t fresh)
{
    for (uint32_t page = 0; page < index->page_count; page++) {
        uint64_t word = index_page_word(index, page);
        uint32_t mask = (1u << GR_PAGE_DEPTH(word)) - 1;

        if ((GR_PAGE_STATE(word) == GR_PAGE_LIVE || GR_PAGE_STATE(word) == GR_PAGE_DEAD) &&
            GR_PAGE_DEPTH(word) <= GR_PAGE_DEPTH(index_page_word(index, fresh)) &&
            (index_page_prefix(index, fresh) & mask) == index_page_prefix(index, page)) {
            return page;
        }
    }
    return INDEX_NO_PAGE;
}

static granary_err
settle_building(struct index *index, uint32_t page)
{
    uint32_t old = find_old(index, page);

    if (old == INDEX_NO_PAGE) {
        return corrupt(index, "a page is being built in place of none");
    }
    if (GR_PAGE_STATE(index_page_word(index, old)) == GR_PAGE_DEAD) {
        page_move(index_slots(index, old));
        index_page_enter(index, page, GR_PAGE_LIVE);
    } else {
        index_point(index, old);
        page_move(index_slots(index, page));
        index_page_enter(index, page, GR_PAGE_FREE);
    }
    return GRANARY_OK;
}

static granary_err
settle_pages(struct index *index)
{
    granary_err err = GRANARY_OK;

    for (uint32_t page = 0; err == GRANARY_OK && page < index->page_count; page++) {
        if (GR_PAGE_STATE(index_page_word(index, page)) == GR_PAGE_BUILDING) {
            err = settle_building(index, page);
        }
    }
    for (uint32_t page = index->page_count; err == GRANARY_OK && page-- > 0;) {
        enum gr_page_state state = GR_PAGE_STATE(index_page_word(index, page));

        if (state == GR_PAGE_DEAD) {
            page_move(index_slots(index, page));
        }
        if (state == GR_PAGE_DEAD || state == GR_PAGE_FREE) {
            index_free_page(index, page);
        }
    }
    return err;
}

/* The records tell what the directory must say: every entry has exactly one page. */
static granary_err
settle_directory(struct index *index)
{
    uint32_t entries = 1u << index_depth(index);
    unsigned char *seen = calloc(1, entries);
    granary_err err = GRANARY_OK;
    uint32_t covered = 0;

    if (seen == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to adopt the index of session %u", index->session);
    }
    for (uint32_t page = 0; page < index->page_count; page++) {
        uint64_t word = index_page_word(index, page);

        if (GR_PAGE_STATE(word) != GR_PAGE_LIVE) {
            continue;
        }
        for (uint32_t at = index_page_prefix(index, page); at < entries; at += 1u << GR_PAGE_DEPTH(word)) {
            covered += seen[at] == 0;
            err = seen[at] == 0 ? err : corrupt(index, "two pages claim the same ids");
            seen[at] = 1;
        }
        index_point(index, page);
    }
    free(seen);
    return err == GRANARY_OK && covered != entries ? corrupt(index, "a page is missing") : err;
}

/* A word that no store ever writes there. */
static void
drop_slot(const struct index *index, struct gr_slot *slot)
{
    gr_log_warn("INDEX-SLOT-DROPPED", "session=%u word=%llx", index->session, (unsigned long long)slot_word(slot));
    atomic_store_explicit(&slot->word, GR_WORD(0, GR_SLOT_TOMB), memory_order_release);
}

static void
count_slots(struct index *index)
{
    for (uint32_t page = 0; page < index->page_count; page++) {
        struct gr_slot *slots = index_slots(index, page);
        struct page_counts *counts = &index->pages[page].counts;

        *counts = (struct page_counts){0, 0};
        for (uint32_t i = 0; i < GR_PAGE_SLOTS && GR_PAGE_STATE(index_page_word(index, page)) == GR_PAGE_LIVE; i++) {
            if (slot_state(&slots[i]) > GR_SLOT_ALIAS || slot_state(&slots[i]) == GR_SLOT_MOVED) {
                drop_slot(index, &slots[i]);
            }
            counts->filled += slot_state(&slots[i]) != GR_SLOT_EMPTY;
            counts->taken += slot_is_taken(&slots[i]);
            index->objects += slot_is_taken(&slots[i]) && slot_state(&slots[i]) != GR_SLOT_ALIAS;
        }
    }
}

/* An alias that was being re-pointed has two slots: the newer one stays. */
static void
settle_aliases(struct index *index)
{
    struct gr_slot *slot;
    uint64_t position = 0;

    while ((slot = index_next(index, &position)) != NULL) {
        struct gr_slot *first =
            slot_state(slot) == GR_SLOT_ALIAS ? index_find_alias(index, slot_object(slot).id) : slot;

        if (first != NULL && first != slot) {
            index_remove(index, slot_word(first) < slot_word(slot) ? first : slot);
        }
    }
}

granary_err
index_adopt(struct index *index, const char *prefix, uint32_t session, _Atomic uint32_t *depth)
{
    granary_err err = index_open(index, prefix, session, depth, false);

    if (err == GRANARY_OK && index_depth(index) > GR_INDEX_MAX_DEPTH) {
        err = corrupt(index, "its depth is impossible");
    }
    if (err == GRANARY_OK) {
        err = back_everything(index);
    }
    if (err == GRANARY_OK) {
        err = check_records(index);
    }
    if (err == GRANARY_OK) {
        err = settle_pages(index);
    }
    if (err == GRANARY_OK) {
        err = settle_directory(index);
    }
    if (err != GRANARY_OK) {
        index_close(index);
        return err;
    }
    count_slots(index);
    settle_aliases(index);
    return GRANARY_OK;
}
