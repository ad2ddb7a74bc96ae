/*
 * Which part of which table an object is. Ids of parts are hashes, so a part is found by trying all that its table has had.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"
#include "base/sized.h"
#include "inspect/tables.h"

/* The table that refers to an object. Errors: ENOENT none does */
static granary_err
owner_find(const struct granary_inspector *inspector, uint32_t session, granary_id id, granary_id *ret_table)
{
    struct ledger_copy *records = NULL;
    size_t count = 0;
    granary_err err = ledger_read(inspector, session, &records, &count);
    bool found = false;

    for (size_t i = 0; err == GRANARY_OK && !found && i < count; i++) {
        found = gr_id_equal(gr_id_from_words(records[i].id[0], records[i].id[1]), id) &&
                tables_refers(&records[i], ret_table);
    }
    free(records);
    return err != GRANARY_OK || found ? err : gr_fail(GRANARY_ENOENT, "it is no part of a table");
}

/* Whether an object is that of a kind and lane with some number below `numbers`; *tries are left. */
static bool
part_try(const struct table_page *page, granary_table_part *part, enum gr_mutable_object kind, uint32_t lane,
         uint64_t numbers, uint64_t *tries)
{
    for (uint64_t i = 0; i<numbers && * tries> 0; i++, --*tries) {
        if (gr_id_equal(gr_id_of_part(page->id, kind, lane, i), part->id)) {
            part->kind = (granary_part_kind)kind;
            part->lane = lane;
            part->number = i;
            part->open = kind <= GR_MUTABLE_SLAB && page->lane[lane].open[kind] == i + 1;
            return true;
        }
    }
    return false;
}

static void
part_find(const struct table_page *page, granary_table_part *part)
{
    static const enum gr_mutable_object kinds[] = {GR_MUTABLE_ROWS, GR_MUTABLE_SLAB, GR_MUTABLE_TILE};
    uint64_t tries = TABLES_TRIES;
    bool found = part_try(page, part, GR_MUTABLE_BASE, 0, (uint64_t)page->base + 1, &tries);

    for (uint32_t lane = 0; !found && lane < page->lanes; lane++) {
        found = part_try(page, part, GR_MUTABLE_LOG, lane, page->lane[lane].blocks, &tries);
        for (size_t k = 0; !found && k < sizeof kinds / sizeof kinds[0]; k++) {
            found = part_try(page, part, kinds[k], lane, page->lane[lane].chunks, &tries);
        }
    }
}

/* Whether an object is the table's, or what keeps it on disk: that tells its id. */
static bool
part_is_own(const struct table_page *page, granary_table_part *part)
{
    uint64_t id[2], prefix[2];

    gr_id_words(part->id, id);
    gr_id_words(gr_id_of_part(page->id, GR_MUTABLE_PIECE, 0, 0), prefix);
    if (gr_id_equal(part->id, page->id)) {
        part->kind = GRANARY_PART_TABLE;
    } else if (page->durability != GR_DURABLE_NONE && id[0] == prefix[0]) {
        part->kind = GRANARY_PART_PIECE;
        part->lane = (uint32_t)(id[1] >> GR_PIECE_LEVEL_SHIFT);
        part->number = id[1] & (((uint64_t)1 << GR_PIECE_LEVEL_SHIFT) - 1);
    } else if (page->durability != GR_DURABLE_NONE && id[0] == GR_TABLE_ROOT_PREFIX && (id[1] ^ page->root) <= 1) {
        part->kind = GRANARY_PART_ROOT;
    } else {
        return false;
    }
    part->table = page->id;
    return true;
}

granary_err
granary_inspect_table_part_sized(granary_inspector *inspector, uint32_t session, granary_id id,
                                 granary_table_part *ret_part, size_t part_size)
{
    granary_table_part part = {.id = id, .kind = GRANARY_PART_OTHER};
    struct table_page *pages = NULL;
    size_t count = 0, at = 0;
    granary_err err = tables_read(inspector, session, &pages, &count);

    while (err == GRANARY_OK && at < count && !part_is_own(&pages[at], &part)) {
        at++;
    }
    if (err == GRANARY_OK && at == count) {
        err = owner_find(inspector, session, id, &part.table);
        for (at = 0; err == GRANARY_OK && at < count; at++) {
            if (gr_id_equal(pages[at].id, part.table)) {
                part_find(&pages[at], &part);
            }
        }
    }
    free(pages);
    if (err == GRANARY_OK) {
        gr_sized_give(ret_part, part_size, &part, sizeof part);
    }
    return err;
}

const char *
granary_part_name(granary_part_kind kind)
{
    static const char *const names[] = {
        [GRANARY_PART_OTHER] = "an object that was put",
        [GRANARY_PART_LOG] = "a block of the log",
        [GRANARY_PART_ROWS] = "a chunk of rows",
        [GRANARY_PART_SLAB] = "a slab of changes",
        [GRANARY_PART_TILE] = "a chunk of elements",
        [GRANARY_PART_BASE] = "the base of its history",
        [GRANARY_PART_TABLE] = "the table itself",
        [GRANARY_PART_PIECE] = "a piece of what is on disk",
        [GRANARY_PART_ROOT] = "what a restart finds it by",
    };

    return (size_t)kind < sizeof names / sizeof names[0] && names[kind] != NULL ? names[kind] : "?";
}
