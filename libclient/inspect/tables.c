/* Mutable tables of an instance: their pages, and what they keep in the store by the ledger and the index. */
#include "inspect/tables.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/memory/grow.h"
#include "base/sized.h"

#define OWNER       "table:"
#define BLOCKS_MOST (1u << 16) /* of a table's logs that are looked for */

/* ---- pages ---- */

#define READ(field) atomic_load_explicit(&(field), memory_order_relaxed)

/* Who is at a lane has its lock. A copy has none. */
static bool
lane_is_locked(const struct file *file, uint32_t page, uint32_t lane)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)page * GR_MUTABLE_LOCKS + lane, .l_len = 1};

    return fcntl(file->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static void
page_copy(const struct granary_inspector *inspector, const struct file *file, const struct gr_mutable *from,
          struct table_page *page)
{
    page->id = gr_id_from_words(READ(from->id[0]), READ(from->id[1]));
    page->sealed = READ(from->sealed);
    page->frontier = READ(from->frontier);
    page->rows = READ(from->rows);
    page->base = READ(from->base);
    page->root = from->root;
    page->durability = from->durability;
    page->lanes = READ(from->lanes);
    page->lanes = page->lanes < GR_MUTABLE_LANES ? page->lanes : GR_MUTABLE_LANES;
    page->writers = 0;
    for (uint32_t i = 0; i < page->lanes; i++) {
        const struct gr_lane *lane = &from->lane[i];

        page->lane[i] = (struct lane_copy){.word = READ(lane->word),
                                           .newest = READ(lane->newest),
                                           .chunks = READ(lane->chunks),
                                           .blocks = READ(lane->blocks)};
        for (size_t kind = GR_MUTABLE_LOG; kind <= GR_MUTABLE_SLAB; kind++) {
            page->lane[i].open[kind] = READ(lane->open[kind]);
        }
        page->writers += !inspector->copy && lane_is_locked(file, page->number, i);
    }
}

static granary_err
head_check(const struct file *file)
{
    struct {
        uint64_t magic;
        uint32_t version;
        uint32_t session;
    } head;
    granary_err err = file_read(file, 0, &head, sizeof head);

    if (err == GRANARY_OK && head.magic != GR_MUTABLES_MAGIC) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: its first bytes are not those of pages of tables", file->name);
    }
    return err == GRANARY_OK ? file_check_version(file, head.version) : err;
}

static granary_err
pages_copy(const struct granary_inspector *inspector, const struct file *file, struct table_page **ret_pages,
           size_t *ret_count)
{
    const uint64_t most = (file->size - sizeof(struct gr_mutables)) / sizeof(struct gr_mutable);
    struct gr_mutable *raw = aligned_alloc(_Alignof(struct gr_mutable), sizeof *raw);
    struct table_page *pages = NULL;
    size_t count = 0, room = 0;
    granary_err err = raw == NULL ? gr_fail(GRANARY_ENOMEM, "%s: no memory for a page", file->name) : GRANARY_OK;

    for (uint32_t i = 0; err == GRANARY_OK && i < most && i < GR_MUTABLES_MOST; i++) {
        const uint64_t at = sizeof(struct gr_mutables) + i * sizeof *raw;

        err = file_read(file, at, raw, sizeof raw->id);
        if (err != GRANARY_OK || (READ(raw->id[0]) == 0 && READ(raw->id[1]) == 0)) {
            continue;
        }
        err = file_read(file, at, raw, sizeof *raw);
        if (err == GRANARY_OK && raw->kind != GR_PAGE_TABLE) {
            continue;
        }
        if (err == GRANARY_OK && !gr_grow(&pages, &room, count, sizeof *pages)) {
            err = gr_fail(GRANARY_ENOMEM, "%s: no memory for %zu pages", file->name, count);
        }
        if (err == GRANARY_OK) {
            pages[count].number = i;
            page_copy(inspector, file, raw, &pages[count++]);
        }
    }
    free(raw);
    if (err != GRANARY_OK) {
        free(pages);
        return err;
    }
    *ret_pages = pages;
    *ret_count = count;
    return GRANARY_OK;
}

granary_err
tables_read(const struct granary_inspector *inspector, uint32_t session, struct table_page **ret_pages,
            size_t *ret_count)
{
    struct file file = FILE_NONE;
    char name[96];
    granary_err err;

    file_name(name, session, "mutables", NO_NUMBER);
    err = file_open(inspector, name, &file);
    if (err == GRANARY_ENOENT) {
        *ret_pages = NULL;
        *ret_count = 0;
        return GRANARY_OK;
    }
    err = err == GRANARY_OK ? head_check(&file) : err;
    err = err == GRANARY_OK ? pages_copy(inspector, &file, ret_pages, ret_count) : err;
    file_close(&file);
    return err;
}

bool
tables_refers(const struct ledger_copy *record, granary_id *ret_table)
{
    const size_t prefix = sizeof OWNER - 1;

    return LEDGER_KIND(record->word) == GR_LEDGER_REFERENCE && strncmp(record->text, OWNER, prefix) == 0 &&
           strnlen(record->text, sizeof record->text) == prefix + GRANARY_ID_TEXT &&
           granary_id_parse(record->text + prefix, GRANARY_ID_TEXT, ret_table) == GRANARY_OK;
}

/* ---- what tables keep ---- */

/* An object that a table refers to. */
struct kept {
    granary_id id;
    size_t table;
    bool is_log;
};

/* The tables of a session. */
struct tally {
    granary_table_info *infos; /* one a page */
    bool *there;               /* whether the table's object is */
    size_t count;
    struct kept *kept; /* by ids */
    size_t kept_count;
    size_t kept_room;
};

static int
by_id(const void *left, const void *right)
{
    return memcmp(&((const struct kept *)left)->id, &((const struct kept *)right)->id, sizeof(granary_id));
}

static size_t
tally_find(const struct tally *tally, granary_id id)
{
    size_t at = 0;

    while (at < tally->count && !gr_id_equal(tally->infos[at].id, id)) {
        at++;
    }
    return at;
}

static granary_err
tally_ledger(const struct granary_inspector *inspector, uint32_t session, struct tally *tally)
{
    struct ledger_copy *records = NULL;
    size_t count = 0;
    granary_err err = ledger_read(inspector, session, &records, &count);

    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        const granary_id id = gr_id_from_words(records[i].id[0], records[i].id[1]);
        const bool is_name = LEDGER_KIND(records[i].word) == GR_LEDGER_NAME;
        granary_id owner = id;
        size_t table;

        if (!is_name && !tables_refers(&records[i], &owner)) {
            continue;
        }
        table = tally_find(tally, owner);
        if (table == tally->count) {
            continue;
        }
        if (is_name) {
            copy_text(tally->infos[table].name, sizeof tally->infos[table].name, records[i].text,
                      sizeof records[i].text);
        } else if (gr_grow(&tally->kept, &tally->kept_room, tally->kept_count, sizeof *tally->kept)) {
            tally->kept[tally->kept_count++] = (struct kept){.id = id, .table = table};
        } else {
            err = gr_fail(GRANARY_ENOMEM, "no memory for what tables keep");
        }
    }
    free(records);
    return err;
}

/* Which of the objects that a table keeps are its logs. They are sorted. */
static void
tally_logs(struct tally *tally, const struct table_page *page)
{
    uint64_t tries = BLOCKS_MOST;

    for (uint32_t lane = 0; lane < page->lanes; lane++) {
        for (uint32_t i = 0; i < page->lane[lane].blocks && tries > 0; i++, tries--) {
            const struct kept key = {.id = gr_id_of_part(page->id, GR_MUTABLE_LOG, lane, i)};
            struct kept *kept = bsearch(&key, tally->kept, tally->kept_count, sizeof key, by_id);

            if (kept != NULL) {
                kept->is_log = true;
            }
        }
    }
}

static granary_err
tally_slot(void *context, const struct slot_copy *slot)
{
    struct tally *tally = context;
    const struct kept key = {.id = gr_id_from_words(slot->id[0], slot->id[1])};
    const size_t table = tally_find(tally, key.id);
    const struct kept *kept;
    granary_object_info info;

    if (!slot_describe(slot, &info) || info.state == GRANARY_OBJECT_DELETING) {
        return GRANARY_OK;
    }
    if (table < tally->count) {
        tally->there[table] = true;
    }
    kept = tally->kept_count == 0 ? NULL : bsearch(&key, tally->kept, tally->kept_count, sizeof key, by_id);
    if (kept != NULL) {
        granary_table_info *of = &tally->infos[kept->table];
        const uint64_t bytes = info.data_size + info.meta_size;

        of->objects++;
        of->bytes += bytes;
        of->memory_bytes += (info.levels & GRANARY_LEVEL_MEMORY) != 0 ? bytes : 0;
        of->log_bytes += kept->is_log ? bytes : 0;
    }
    return GRANARY_OK;
}

static void
info_fill(const struct table_page *page, uint32_t session, granary_table_info *info)
{
    *info = (granary_table_info){.session = session,
                                 .id = page->id,
                                 .sealed = page->sealed != INT64_MIN,
                                 .lanes = page->lanes,
                                 .writers = page->writers,
                                 .newest = INT64_MIN,
                                 .final = page->frontier,
                                 .durability = page->durability,
                                 .rows = page->rows};
    for (uint32_t i = 0; i < page->lanes; i++) {
        info->newest = page->lane[i].newest > info->newest ? page->lane[i].newest : info->newest;
    }
}

/* Tables that are there, and deleted ones that keep something, behind what there is in a list. */
static granary_err
tally_take(struct tally *tally, granary_table_info **infos, size_t *room, size_t *count)
{
    for (size_t i = 0; i < tally->count; i++) {
        granary_table_info *info = &tally->infos[i];

        info->deleted = !tally->there[i];
        if (info->deleted && info->objects == 0) {
            continue;
        }
        if (!gr_grow(infos, room, *count, sizeof **infos)) {
            return gr_fail(GRANARY_ENOMEM, "no memory to list tables");
        }
        (*infos)[(*count)++] = *info;
    }
    return GRANARY_OK;
}

static granary_err
session_tables(const struct granary_inspector *inspector, uint32_t session, granary_table_info **infos, size_t *room,
               size_t *count)
{
    struct tally tally = {.count = 0};
    struct table_page *pages = NULL;
    granary_err err = tables_read(inspector, session, &pages, &tally.count);

    if (err != GRANARY_OK || tally.count == 0) {
        return err;
    }
    tally.infos = calloc(tally.count, sizeof *tally.infos);
    tally.there = calloc(tally.count, sizeof *tally.there);
    err = tally.infos == NULL || tally.there == NULL ? gr_fail(GRANARY_ENOMEM, "no memory to list tables") : GRANARY_OK;
    for (size_t i = 0; err == GRANARY_OK && i < tally.count; i++) {
        info_fill(&pages[i], session, &tally.infos[i]);
    }
    err = err == GRANARY_OK ? tally_ledger(inspector, session, &tally) : err;
    if (err == GRANARY_OK) {
        if (tally.kept_count > 0) {
            qsort(tally.kept, tally.kept_count, sizeof *tally.kept, by_id);
        }
        for (size_t i = 0; i < tally.count && tally.kept_count > 0; i++) {
            tally_logs(&tally, &pages[i]);
        }
        err = index_walk(inspector, session, tally_slot, &tally);
    }
    err = err == GRANARY_OK ? tally_take(&tally, infos, room, count) : err;
    free(tally.kept);
    free(tally.there);
    free(tally.infos);
    free(pages);
    return err;
}

granary_err
granary_inspect_tables_sized(granary_inspector *inspector, granary_table_info **ret_infos, size_t *ret_count,
                             size_t info_size)
{
    granary_table_info *infos = NULL;
    uint32_t *sessions = NULL;
    size_t session_count = 0, count = 0, room = 0;
    granary_err err = sessions_list(inspector, &sessions, &session_count);

    for (size_t i = 0; err == GRANARY_OK && i < session_count; i++) {
        granary_err one = session_tables(inspector, sessions[i], &infos, &room, &count);

        err = one == GRANARY_ENOMEM ? one : GRANARY_OK; /* what a damaged session has is left out */
    }
    free(sessions);
    return gr_sized_give_list(err, infos, sizeof *infos, count, ret_infos, info_size, ret_count);
}
