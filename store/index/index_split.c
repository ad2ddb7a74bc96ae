/* How a page becomes two: the order of these stores is what index_adopt() relies on. */
#include "base/error.h"
#include "store/index/index_parts.h"

/* A page in which no more is taken than this is rebuilt instead of split. */
#define REBUILD_MOST (PAGE_FULL * 3 / 4)

void
index_point(struct index *index, uint32_t page)
{
    uint64_t word = index_page_word(index, page);
    uint64_t entry = (uint64_t)GR_PAGE_GENERATION(word) << 32 | page;
    uint32_t end = 1u << index_depth(index);

    for (uint32_t at = index_page_prefix(index, page); at < end; at += 1u << GR_PAGE_DEPTH(word)) {
        atomic_store_explicit(&index_directory(index)[at], entry, memory_order_release);
        INDEX_STEP();
    }
}

void
index_free_page(struct index *index, uint32_t page)
{
    index_page_enter(index, page, GR_PAGE_FREE);
    index->pages[page].next_free = index->first_free;
    index->first_free = page;
}

static granary_err
double_directory(struct index *index)
{
    _Atomic uint64_t *directory = index_directory(index);
    uint32_t depth = index_depth(index);
    granary_err err = index_grow_directory(index, depth + 1);

    if (err != GRANARY_OK) {
        return err;
    }
    for (uint32_t at = 0; at < 1u << depth; at++) {
        uint64_t entry = atomic_load_explicit(&directory[at], memory_order_relaxed);

        atomic_store_explicit(&directory[at + (1u << depth)], entry, memory_order_relaxed);
    }
    INDEX_STEP();
    atomic_store_explicit(index->depth, depth + 1, memory_order_release);
    INDEX_STEP();
    return GRANARY_OK;
}

/* See to it that so many pages are free. */
static granary_err
expect_pages(struct index *index, unsigned count)
{
    uint32_t page = index->first_free;

    for (unsigned i = 0; i < count; i++) {
        granary_err err = page != INDEX_NO_PAGE ? GRANARY_OK : index_grow_pages(index);

        if (err != GRANARY_OK) {
            return err;
        }
        /* One that was just made is the first: those before it are still to be counted. */
        page = page != INDEX_NO_PAGE ? index->pages[page].next_free : INDEX_NO_PAGE;
    }
    return GRANARY_OK;
}

/* A free page begins its next life. */
static uint32_t
begin_page(struct index *index, uint32_t depth, uint32_t prefix)
{
    uint32_t page = index->first_free;
    struct gr_page_record *record = index_record(index, page);
    uint32_t generation = GR_PAGE_GENERATION(index_page_word(index, page)) + 1;

    index->first_free = index->pages[page].next_free;
    atomic_store_explicit(&record->prefix, prefix, memory_order_relaxed);
    INDEX_STEP();
    atomic_store_explicit(&record->word, GR_PAGE_WORD(generation == 0 ? 1 : generation, depth, GR_PAGE_BUILDING),
                          memory_order_release);
    INDEX_STEP();
    page_clear(index_slots(index, page), &index->pages[page].counts);
    return page;
}

void
index_begin(struct index *index)
{
    uint32_t page = begin_page(index, 0, 0);

    index_point(index, page);
    index_page_enter(index, page, GR_PAGE_LIVE);
}

/* Put `ways` pages (1 or 2) in place of one. */
static granary_err
replace_page(struct index *index, uint32_t old, unsigned ways)
{
    uint32_t depth = GR_PAGE_DEPTH(index_page_word(index, old));
    uint32_t prefix = index_page_prefix(index, old);
    uint32_t bit = ways == 2 ? 1u << depth : 0;
    uint32_t fresh[2];
    granary_err err = expect_pages(index, ways);

    if (err == GRANARY_OK && ways == 2 && depth == index_depth(index)) {
        err = double_directory(index);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (unsigned way = 0; way < ways; way++) {
        uint32_t want = way == 0 ? 0 : bit;

        fresh[way] = begin_page(index, depth + ways - 1, prefix | want);
        page_copy(index_slots(index, fresh[way]), &index->pages[fresh[way]].counts, index_slots(index, old), bit, want);
    }
    for (unsigned way = 0; way < ways; way++) {
        index_point(index, fresh[way]);
    }
    index_page_enter(index, old, GR_PAGE_DEAD);
    page_move(index_slots(index, old));
    for (unsigned way = 0; way < ways; way++) {
        index_page_enter(index, fresh[way], GR_PAGE_LIVE);
    }
    index_free_page(index, old);
    index->splits++;
    return GRANARY_OK;
}

granary_err
index_relieve(struct index *index, uint32_t page)
{
    if (index->pages[page].counts.taken <= REBUILD_MOST) {
        return replace_page(index, page, 1);
    }
    if (GR_PAGE_DEPTH(index_page_word(index, page)) == GR_INDEX_MAX_DEPTH) {
        return gr_fail(GRANARY_EFULL, "index full: too many objects in one session, or with ids that are too alike");
    }
    return replace_page(index, page, 2);
}
