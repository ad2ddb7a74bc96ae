/*
 * Restores. The table's object gets the id that it had, so all its other objects do, too. The object comes last but for the
 * name: until then nobody believes the page, and a process that dies leaves nothing that counts.
 */
#include "mutable/durable/restore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/id.h"
#include "base/memory/grow.h"
#include "data/arrow/arrow.h"
#include "granary/hold.h"
#include "mutable/core/kept.h"
#include "mutable/durable/replay.h"
#include "mutable/marked.h"

/* A table that comes back. */
struct restore {
    granary_client *client;
    const struct root *root;
    granary_id table;
    struct replay *replay;
    uint64_t next;    /* number of the next piece of level 0 */
    uint64_t known;   /* flushes are complete up to that number */
    uint64_t covered; /* pieces up to that number are in others of higher levels */
};

/* ---- which pieces there are ---- */

/* Delete all that begin with that number, or later. *ret_count of them, but for what was leased. Errors: ENOMEM */
static granary_err
pieces_drop(granary_client *client, granary_id table, uint64_t first, size_t *ret_count)
{
    struct piece_places places = {.count = 0};
    granary_err err = pieces_list(client, table, &places);

    *ret_count = 0;
    for (size_t i = 0; err == GRANARY_OK && i < places.count; i++) {
        const struct piece_place *place = &places.place[i];

        if (place->first >= first) {
            (void)granary_object_delete(client, piece_id(table, place->level, place->number), 0);
            ++*ret_count;
        }
    }
    free(places.place);
    return err;
}

/* ---- what they tell ---- */

/* A piece, leased, and its flags. Errors: ECORRUPT · as granary_object_get() */
static granary_err
piece_get(const struct restore *restore, uint32_t level, uint64_t number, granary_view *ret_view, uint32_t *ret_flags)
{
    struct piece_reader reader;
    granary_err err = granary_object_get(restore->client, piece_id(restore->table, level, number), 0, ret_view);

    if (err != GRANARY_OK) {
        return err;
    }
    err = piece_open(ret_view->data, ret_view->data_size, &reader);
    if (err != GRANARY_OK) {
        granary_object_release(restore->client, ret_view);
    }
    *ret_flags = reader.head.flags;
    return err;
}

static granary_err
fail_piece(const struct restore *restore, uint32_t level, uint64_t number, granary_err err)
{
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(piece_id(restore->table, level, number), text);
    return gr_fail_in(err, "piece %s", text);
}

/* Whether a flush of several pieces, of which the first one has that number, is complete; *ret_end is the number behind. */
static granary_err
flush_is_complete(const struct restore *restore, uint64_t number, bool *ret_complete, uint64_t *ret_end)
{
    uint32_t flags = 0;

    *ret_complete = false;
    for (*ret_end = number + 1; granary_object_contains(restore->client, piece_id(restore->table, 0, *ret_end));) {
        granary_view view;
        granary_err err = piece_get(restore, 0, *ret_end, &view, &flags);

        if (err != GRANARY_OK) {
            return fail_piece(restore, 0, *ret_end, err);
        }
        granary_object_release(restore->client, &view);
        if ((flags & GR_PIECE_FIRST) != 0) {
            return GRANARY_OK;
        }
        ++*ret_end;
        if ((flags & GR_PIECE_LAST) != 0) {
            *ret_complete = true;
            return GRANARY_OK;
        }
    }
    return GRANARY_OK;
}

/* Take one piece, unless it is part of a flush that is not complete. */
static granary_err
take_piece(struct restore *restore, const struct piece_place *place)
{
    uint64_t end = place->first + piece_span(place->level);
    bool is_complete = true;
    granary_view view;
    uint32_t flags;
    granary_err err = piece_get(restore, place->level, place->number, &view, &flags);

    if (err != GRANARY_OK) {
        return fail_piece(restore, place->level, place->number, err);
    }
    if (place->first >= restore->known && (flags & GR_PIECE_LAST) == 0) {
        err = flush_is_complete(restore, place->first, &is_complete, &end);
        restore->known = is_complete ? end : restore->known;
        end = is_complete ? place->first + 1 : end;
    }
    if (err == GRANARY_OK && is_complete) {
        err = replay_piece(restore->replay, view.data, view.data_size);
        err = err == GRANARY_OK ? err : fail_piece(restore, place->level, place->number, err);
    }
    if (err == GRANARY_OK) {
        restore->next = end;
        restore->covered = place->level > 0 ? end : restore->covered;
    }
    granary_object_release(restore->client, &view);
    return err;
}

static granary_err
take_pieces(struct restore *restore)
{
    struct piece_places places = {.count = 0};
    granary_err err = pieces_list(restore->client, restore->table, &places);

    for (size_t i = 0; err == GRANARY_OK && i < places.count; i++) {
        const struct piece_place *place = &places.place[i];

        if (place->first > restore->next) {
            err = fail_piece(restore, 0, restore->next,
                             gr_fail(GRANARY_ECORRUPT, "it is missing, and later ones are there"));
        } else if (place->first == restore->next) {
            err = take_piece(restore, place);
        } else if (place->first < restore->covered) { /* who put pieces together was killed before this one went */
            (void)granary_object_delete(restore->client, piece_id(restore->table, place->level, place->number), 0);
        }
    }
    free(places.place);
    return err;
}

/* ---- a table ---- */

/* The page as the root says; it is nobody else's yet. */
static void
page_fill(const struct restore *restore, struct gr_mutable *page, uint64_t hash)
{
    const struct gr_mutable_root *head = &restore->root->head;

    page->durability = head->durability;
    page->interval_ns = head->interval_ns;
    page->root = hash;
    atomic_store(&page->pieces, (uint32_t)restore->next);
    if (head->state == GR_TABLE_ROOT_SEALED) {
        atomic_store(&page->sealed, head->sealed);
    }
}

/* The table's columns, from what its object was. Errors: ECORRUPT · ENOMEM */
static granary_err
schema_read(const struct root *root, granary_frame **ret_all, granary_frame **ret_schema)
{
    granary_err err = gr_arrow_read(root->bytes, root->head.data_size, root_meta(root), root->head.meta_size, ret_all);

    return err == GRANARY_OK ? marked_columns(*ret_all, ret_schema) : err;
}

/* Replay the pieces; truncate: up to the first one that is damaged or missing, and the others go. */
static granary_err
pieces_replay(struct restore *restore, struct gr_mutable *page, bool truncate)
{
    granary_frame *all = NULL, *schema = NULL;
    size_t dropped;
    granary_err err = schema_read(restore->root, &all, &schema);

    err = err == GRANARY_OK ? replay_begin(restore->client, restore->table, page, schema, &restore->replay) : err;
    err = err == GRANARY_OK ? take_pieces(restore) : err;
    /* Without columns nothing is taken, and nothing of it goes. */
    if (truncate && restore->replay != NULL && (err == GRANARY_ECORRUPT || err == GRANARY_EIO)) {
        err = pieces_drop(restore->client, restore->table, restore->next, &dropped);
    }
    FAULT_STEP(restore_taken);
    err = err == GRANARY_OK ? replay_end(restore->replay) : err;
    replay_free(restore->replay);
    gr_frame_destroy(schema);
    gr_frame_destroy(all);
    return err;
}

/* Page, objects, then the table's own object. What a process has left that died in the midst of it goes first. */
static granary_err
table_rebuild(granary_client *client, const struct root *root, uint64_t hash, bool truncate)
{
    struct restore restore = {.client = client, .root = root, .table = root_table(root)};
    struct mutable_page page;
    granary_err err = kept_drop_all(client, restore.table);

    if (granary_object_contains(client, restore.table)) { /* somebody had made it persistent by itself */
        (void)granary_object_delete(client, restore.table, 0);
    }
    err = err == GRANARY_OK ? page_take(client, restore.table, &page) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    err = pieces_replay(&restore, page.page, truncate);
    if (err == GRANARY_OK) {
        page_fill(&restore, page.page, hash);
        FAULT_STEP(restore_filled);
        err = granary_object_put(client, restore.table, root->bytes, root->head.data_size, root_meta(root),
                                 root->head.meta_size, 0);
    }
    if (err == GRANARY_OK) {
        FAULT_STEP(restore_put);
        page_share(&page);
    }
    page_close(&page);
    return err;
}

/* Whether the table is there, but for its name. */
static bool
table_is_up(granary_client *client, granary_id table)
{
    struct mutable_page page;
    const bool is_up = granary_object_contains(client, table) && page_find(client, table, &page) == GRANARY_OK;

    if (is_up) {
        page_close(&page);
    }
    return is_up;
}

/* Of a table that was ended: what is left of it. */
static granary_err
ended_collect(granary_client *client, uint64_t hash, const struct root *root)
{
    size_t dropped;
    granary_err err = pieces_drop(client, root_table(root), 0, &dropped);

    return err == GRANARY_OK ? root_collect(client, hash, root, dropped == 0) : err;
}

/* While the caller has the lock of the name, which was not bound. */
static granary_err
root_restore(granary_client *client, const char *name, bool truncate)
{
    const uint64_t hash = root_hash(name);
    struct root root;
    size_t dropped;
    granary_err err = root_get_newest(client, hash, &root);

    if (err != GRANARY_OK) {
        root_free(&root);
        return err;
    }
    if (!gr_id_is_zero(root_before(&root))) {
        (void)pieces_drop(client, root_before(&root), 0, &dropped); /* what stays, goes the next time */
    }
    if (root.head.state == GR_TABLE_ROOT_ENDED) {
        err = ended_collect(client, hash, &root);
        err = err == GRANARY_OK ? gr_fail(GRANARY_ENOENT, "the table was deleted") : err;
    } else if (strcmp(root.head.name, name) != 0) {
        err = gr_fail(GRANARY_ENOENT, "the disk knows '%s', whose hash is the same", root.head.name);
    } else if (!table_is_up(client, root_table(&root))) {
        err = table_rebuild(client, &root, hash, truncate);
    }
    err = err == GRANARY_OK
              ? granary_name_set(client, name, root_table(&root), GRANARY_NAME_NEW, (granary_id){{0}}, NULL)
              : err;
    root_free(&root);
    return err;
}

static granary_err
name_restore(granary_client *client, const char *name, bool truncate)
{
    granary_id id;
    granary_err err = granary_name_get(client, name, &id);

    if (err == GRANARY_ENOENT) {
        return root_restore(client, name, truncate);
    }
    return err == GRANARY_OK && truncate
               ? gr_fail(GRANARY_ESTATE, "table '%s' is there: nothing is to be recovered", name)
               : err;
}

granary_err
durable_restore_locked(granary_client *client, const char *name)
{
    return name_restore(client, name, false);
}

/* What to do stands behind the last message. */
static granary_err
fail_recoverable(const char *name)
{
    char why[300];

    (void)snprintf(why, sizeof why, "%s", granary_error_message());
    return gr_fail(GRANARY_ECORRUPT, "table '%s': %s: `granary table recover` brings back what was before", name, why);
}

static granary_err
lock_and_restore(granary_client *client, const char *name, bool truncate)
{
    struct mutable_page lock;
    granary_err err = page_lock_name(client, root_hash(name), &lock);

    if (err == GRANARY_OK) {
        err = name_restore(client, name, truncate);
        page_close(&lock);
    }
    if (err == GRANARY_ECORRUPT && !truncate) {
        return fail_recoverable(name);
    }
    return err == GRANARY_OK || err == GRANARY_ENOENT || err == GRANARY_ESTATE ? err
                                                                               : gr_fail_in(err, "table '%s'", name);
}

granary_err
durable_restore(granary_client *client, const char *name)
{
    return root_is_there(client, root_hash(name)) ? lock_and_restore(client, name, false)
                                                  : gr_fail(GRANARY_ENOENT, "there is none of that name");
}

granary_err
durable_recover(granary_client *client, const char *name)
{
    return lock_and_restore(client, name, true);
}

/* ---- all of them ---- */

struct names {
    char (*name)[64];
    size_t count;
    size_t room;
};

static granary_err
names_add(void *context, const char *name)
{
    struct names *names = context;

    if (!gr_grow(&names->name, &names->room, names->count, sizeof *names->name)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    (void)snprintf(names->name[names->count++], sizeof *names->name, "%s", name);
    return GRANARY_OK;
}

granary_err
durable_restore_all(granary_client *client)
{
    struct names names = {.count = 0};
    granary_err err = roots_walk(client, names_add, &names);

    for (size_t i = 0; err == GRANARY_OK && i < names.count; i++) {
        granary_id id;

        if (granary_name_get(client, names.name[i], &id) == GRANARY_ENOENT) {
            (void)durable_restore(client, names.name[i]); /* who opens it is told why it does not come back */
        }
    }
    free(names.name);
    return err;
}

granary_err
durable_end(granary_client *client, uint64_t hash, granary_id table)
{
    size_t dropped;
    granary_err err = root_end(client, hash);

    FAULT_STEP(durable_ended);
    return err == GRANARY_OK ? pieces_drop(client, table, 0, &dropped) : err;
}
