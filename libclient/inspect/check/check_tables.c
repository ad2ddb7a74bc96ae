/*
 * Mutable tables: each lane's log is read back from its last slot, and what it tells of has to be there. Blocks that are on
 * disk are not read: what they lead to is left out. What no log tells of is a note, for it takes memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "inspect/check/check.h"
#include "inspect/tables.h"

#define NUMBERS_MOST (1u << 18) /* objects of a lane, of all times: of more, not all are looked for */

/* A lane that is looked at. */
struct walk {
    struct check *check;
    uint32_t session;
    const struct table_page *page;
    uint32_t lane;
    uint8_t *blocks; /* of its numbers: which the log has */
    uint8_t *chunks;
    uint32_t block_count;
    uint32_t chunk_count;
    bool is_partial; /* not all of the log could be read */
};

static const struct check_object *
part_find(const struct walk *walk, enum gr_mutable_object kind, uint64_t number)
{
    const granary_id id = gr_id_of_part(walk->page->id, kind, walk->lane, number);
    const struct check_object *object;
    uint64_t words[2];
    size_t count = 0;

    gr_id_words(id, words);
    object = check_find(walk->check, walk->session, words, &count);
    for (size_t i = 0; object != NULL && i < count; i++) {
        if (GR_WORD_STATE(object[i].slot.word) != GR_SLOT_DELETING) {
            return &object[i];
        }
    }
    return NULL;
}

static void
found(const struct walk *walk, granary_finding_kind kind, const char *code, uint64_t number, const char *what)
{
    char id[GRANARY_ID_TEXT + 1];
    uint64_t words[2];

    gr_id_words(walk->page->id, words);
    check_found(walk->check, kind, code, walk->session, words, (uint64_t)walk->lane << 32 | (uint32_t)number,
                "table %s: lane %u, %llu: %s", check_id(words, id), walk->lane, (unsigned long long)number, what);
}

/* Bytes of an object that is in memory; false: it is not, or they are not there. */
static bool
object_read(const struct walk *walk, const struct check_object *object, uint64_t at, void *bytes, size_t size)
{
    struct file file = FILE_NONE;
    char name[96];
    bool good;

    if (GR_WORD_STATE(object->slot.word) != GR_SLOT_SEALED || at > object->slot.data_size ||
        size > object->slot.data_size - at || object->slot.offset > INT64_MAX - at) {
        return false;
    }
    file_name(name, walk->session, "data", (uint32_t)(object->slot.where_meta >> 32));
    good = file_open(walk->check->inspector, name, &file) == GRANARY_OK &&
           file_read(&file, object->slot.offset + at, bytes, size) == GRANARY_OK;
    file_close(&file);
    return good;
}

/* ---- slots ---- */

static void
mark(uint8_t *numbers, uint64_t number, uint64_t count)
{
    if (number < count) {
        numbers[number] = 1;
    }
}

static void
check_slot(struct walk *walk, const struct gr_mutable_slot *slot)
{
    const unsigned kind = GR_MUTABLE_WHAT_KIND(slot->what);
    const uint32_t number = GR_MUTABLE_WHAT_CHUNK(slot->what);
    const bool is_rows = kind == GR_MUTABLE_APPEND;
    const uint32_t chunks = walk->chunk_count;

    /* A chunk that was begun may be gone: it got no rows. */
    if ((!is_rows && kind != GR_MUTABLE_NOTE) || (number < chunks && walk->chunks[number] != 0)) {
        return;
    }
    mark(walk->chunks, number, chunks);
    /* Where history was given up, its objects may be gone. */
    if (walk->page->base == 0 && part_find(walk, is_rows ? GR_MUTABLE_ROWS : GR_MUTABLE_SLAB, number) == NULL) {
        found(walk, GRANARY_FINDING_DAMAGE, "table-part", number,
              is_rows ? "the log has a chunk of rows of that number, which is gone"
                      : "the log has changes in a slab of that number, which is gone");
    }
}

/* Slots [1, slots) of a block of a log; 0 slots: there is no block. */
struct block {
    uint64_t number;
    uint64_t slots;
};

/* Look at a block's slots; it becomes the block before. False: it cannot be read. */
static bool
check_block(struct walk *walk, struct block *block)
{
    const uint64_t number = block->number, slots = block->slots;
    const struct check_object *object = part_find(walk, GR_MUTABLE_LOG, number);
    struct gr_mutable_slot *slot;
    bool leads;

    if (object == NULL) {
        found(walk, GRANARY_FINDING_DAMAGE, "table-log", number, "that block of its log is gone");
        return false;
    }
    slot = calloc(slots, sizeof *slot);
    if (slot == NULL) {
        walk->check->err = gr_fail(GRANARY_ENOMEM, "no memory for a log");
        return false;
    }
    if (!object_read(walk, object, 0, slot, slots * sizeof *slot)) {
        if (GR_WORD_STATE(object->slot.word) == GR_SLOT_SEALED) {
            found(walk, GRANARY_FINDING_DAMAGE, "table-log", number, "that block of its log does not have its slots");
        }
        free(slot);
        return false;
    }
    for (uint64_t i = 1; i < slots; i++) {
        check_slot(walk, &slot[i]);
    }
    *block = (struct block){slot[0].what, (uint64_t)slot[0].time};
    leads = block->slots == 0 || (block->number < number && block->slots <= GR_LOG_SLOTS);
    if (!leads) {
        found(walk, GRANARY_FINDING_DAMAGE, "table-log", number, "that block of its log leads nowhere");
    }
    free(slot);
    return leads;
}

/* ---- lanes ---- */

/* Objects that no log tells of: of writers that were killed before they committed, or were refused. */
static void
check_untold(const struct walk *walk)
{
    static const enum gr_mutable_object kinds[] = {GR_MUTABLE_ROWS, GR_MUTABLE_SLAB};
    const struct lane_copy *lane = &walk->page->lane[walk->lane];
    uint64_t objects = 0;

    if (walk->is_partial || walk->page->base != 0 || walk->page->sealed != INT64_MIN) {
        return;
    }
    for (uint32_t i = 0; i < walk->chunk_count; i++) {
        for (size_t k = 0; k < 2 && walk->chunks[i] == 0; k++) {
            objects += lane->open[kinds[k]] != i + 1 && part_find(walk, kinds[k], i) != NULL;
        }
    }
    for (uint32_t i = 0; i < walk->block_count; i++) {
        objects +=
            walk->blocks[i] == 0 && lane->open[GR_MUTABLE_LOG] != i + 1 && part_find(walk, GR_MUTABLE_LOG, i) != NULL;
    }
    if (objects > 0) {
        found(walk, GRANARY_FINDING_NOTE, "table-untold", objects,
              "so many objects of it are in no log: who made them was killed or refused; they go with the table");
    }
}

static void
check_lane(struct walk *walk)
{
    const struct lane_copy *lane = &walk->page->lane[walk->lane];
    const uint64_t count = GR_LANE_COUNT(lane->word);
    struct block block = {0, 0};

    if (count > 0) {
        block = (struct block){(count - 1) / GR_LOG_SLOTS, (count - 1) % GR_LOG_SLOTS + 1};
    }
    walk->block_count = lane->blocks < NUMBERS_MOST ? lane->blocks : NUMBERS_MOST;
    walk->chunk_count = lane->chunks < NUMBERS_MOST ? lane->chunks : NUMBERS_MOST;
    walk->blocks = calloc((size_t)walk->block_count + 1, 1);
    walk->chunks = calloc((size_t)walk->chunk_count + 1, 1);
    if (walk->blocks == NULL || walk->chunks == NULL) {
        walk->check->err = gr_fail(GRANARY_ENOMEM, "no memory to check a lane");
    }
    while (walk->check->err == GRANARY_OK && block.slots > 0 && !walk->is_partial) {
        if (block.number < lane->blocks) {
            mark(walk->blocks, block.number, walk->block_count);
            walk->is_partial = !check_block(walk, &block);
        } else {
            found(walk, GRANARY_FINDING_DAMAGE, "table-log", block.number,
                  "the lane says it is in a block that it has not");
            walk->is_partial = true;
        }
    }
    if (walk->check->err == GRANARY_OK) {
        check_untold(walk);
    }
    free(walk->blocks);
    free(walk->chunks);
}

/* ---- tables ---- */

static void
check_table(struct check *check, uint32_t session, const struct table_page *page)
{
    struct walk walk = {.check = check, .session = session, .page = page};

    if (page->base != 0 && part_find(&walk, GR_MUTABLE_BASE, page->base) == NULL) {
        found(&walk, GRANARY_FINDING_DAMAGE, "table-base", page->base, "the base of that number is gone");
    }
    for (uint32_t i = 0; i < page->lanes && check->err == GRANARY_OK; i++) {
        walk = (struct walk){.check = check, .session = session, .page = page, .lane = i};
        check_lane(&walk);
    }
}

/* Objects of a table whose own object is gone. records: the session's ledger. */
static void
check_deleted(struct check *check, uint32_t session, const struct table_page *page, const struct ledger_copy *records,
              size_t count)
{
    char id[GRANARY_ID_TEXT + 1];
    uint64_t words[2], left = 0;

    for (size_t i = 0; i < count; i++) {
        granary_id table;

        left += tables_refers(&records[i], &table) && gr_id_equal(table, page->id);
    }
    gr_id_words(page->id, words);
    if (left > 0) {
        check_found(
            check, GRANARY_FINDING_NOTE, "table-deleted", session, words, left,
            "table %s was deleted, and keeps %llu objects: who deleted it died meanwhile; the next table that is "
            "made in the session lets them go",
            check_id(words, id), (unsigned long long)left);
    }
}

void
check_tables(struct check *check, uint32_t session)
{
    struct table_page *pages = NULL;
    struct ledger_copy *records = NULL;
    size_t count = 0, record_count = 0;
    granary_err err = tables_read(check->inspector, session, &pages, &count);

    if (err == GRANARY_ENOMEM) {
        check->err = err;
    } else if (err != GRANARY_OK) {
        check_found(check, GRANARY_FINDING_DAMAGE, "tables", session, NULL, 0, "%s", granary_error_message());
    }
    if (count > 0 && ledger_read(check->inspector, session, &records, &record_count) != GRANARY_OK) {
        record_count = 0; /* which is told with the holds */
    }
    for (size_t i = 0; i < count && check->err == GRANARY_OK; i++) {
        uint64_t words[2];
        size_t objects;

        gr_id_words(pages[i].id, words);
        if (check_find(check, session, words, &objects) != NULL) {
            check->summary.tables++;
            check_table(check, session, &pages[i]);
        } else {
            check_deleted(check, session, &pages[i], records, record_count);
        }
    }
    free(records);
    free(pages);
}
