/* Inside the index: its directory and its pages, shared by who finds, who splits and who adopts. */
#ifndef STORE_INDEX_PARTS_H
#define STORE_INDEX_PARTS_H

#include "store/index/index.h"
#include "store/index/index_step.h"

static inline _Atomic uint64_t *
index_directory(const struct index *index)
{
    return (_Atomic uint64_t *)(void *)(index->base + GR_INDEX_DIRECTORY_AT);
}

static inline struct gr_page_record *
index_record(const struct index *index, uint32_t page)
{
    return (struct gr_page_record *)(void *)(index->base + GR_INDEX_RECORDS_AT) + page;
}

static inline struct gr_slot *
index_slots(const struct index *index, uint32_t page)
{
    return (struct gr_slot *)(void *)(index->base + GR_INDEX_PAGES_AT + page * GR_PAGE_BYTES);
}

static inline uint32_t
index_depth(const struct index *index)
{
    return atomic_load_explicit(index->depth, memory_order_relaxed);
}

static inline uint64_t
index_page_word(const struct index *index, uint32_t page)
{
    return atomic_load_explicit(&index_record(index, page)->word, memory_order_relaxed);
}

static inline uint32_t
index_page_prefix(const struct index *index, uint32_t page)
{
    return (uint32_t)atomic_load_explicit(&index_record(index, page)->prefix, memory_order_relaxed);
}

static inline void
index_page_enter(struct index *index, uint32_t page, enum gr_page_state state)
{
    uint64_t word = index_page_word(index, page);

    atomic_store_explicit(&index_record(index, page)->word,
                          GR_PAGE_WORD(GR_PAGE_GENERATION(word), GR_PAGE_DEPTH(word), state), memory_order_release);
    INDEX_STEP();
}

/* The page of a prefix. */
static inline uint32_t
index_page_of(const struct index *index, uint32_t prefix)
{
    uint32_t place = prefix & ((1u << index_depth(index)) - 1);

    return GR_PAGE_OF_ENTRY(atomic_load_explicit(&index_directory(index)[place], memory_order_relaxed));
}

/* ---- index_file.c ---- */

/* The file (fresh: a new one, else the one that is there) mapped, with nothing known of it yet. Errors: as index_... */
granary_err index_open(struct index *index, const char *prefix, uint32_t session, _Atomic uint32_t *depth, bool fresh);
/* Memory behind a part of the file, which begins with `have` bytes that have it. Errors: EFULL */
granary_err index_back(struct index *index, uint64_t at, uint64_t have, uint64_t want);

/* Memory for a directory of 2^depth entries, for so many records, and for one more page, which is free. Errors: EFULL
 */
granary_err index_grow_directory(struct index *index, uint32_t depth);
granary_err index_grow_records(struct index *index, uint32_t count);
granary_err index_grow_pages(struct index *index);

/* ---- index_split.c ---- */

/* The first page of a new index, which has one free. */
void index_begin(struct index *index);

/* Lead every directory entry of its prefix to a page. */
void index_point(struct index *index, uint32_t page);

/* A page whose slots say MOVED may be used again. */
void index_free_page(struct index *index, uint32_t page);

/* Make room in a page that is full: split it, or leave its tombs behind. Errors: EFULL */
granary_err index_relieve(struct index *index, uint32_t page);

#endif
