/* Revival: the indexes of persistent files are read, and the newest record of an id counts. */
#include "store/adopt/revive.h"

#include "base/error.h"
#include "base/log.h"
#include "store/object/session.h"
#include "store/segment/depot.h"

struct revival {
    struct store *store;
    struct depot *depot; /* that is being scanned */
    uint32_t file;       /* held until its records are known; 0: none */
    uint64_t objects;
};

static void
file_ends(struct revival *revival)
{
    if (revival->file != 0) { /* without any object it goes */
        file_release(revival->store, revival->file, 0);
        revival->file = 0;
    }
}

static granary_err
on_file(void *context, const struct level_file *file)
{
    struct revival *revival = context;
    struct store *store = revival->store;
    struct session *session;

    file_ends(revival);
    if ((file->flags & LEVEL_FILE_PERSISTENT) == 0) {
        return GRANARY_OK;
    }
    if (file_find(store, file->number) != NULL) { /* a directory that was not named for a while has come back */
        gr_log_error("PERSISTENT-LEFT", "file=%s why=another directory has one of that number", file->path);
        return GRANARY_OK;
    }
    if (file->err == GRANARY_ENOMEM) {
        return GRANARY_ENOMEM; /* of this process, or of descriptors: the file may be fine */
    }
    if (file->err != GRANARY_OK || session_revive(store, file, &session) != GRANARY_OK) {
        gr_log_error("PERSISTENT-LEFT", "file=%s why=%s", file->path, granary_error_message());
        return GRANARY_OK;
    }
    if (file_add(store, revival->depot, session, file, file->bytes) == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for what spill files hold");
    }
    revival->file = file->number;
    return GRANARY_OK;
}

/* Of two objects with one id the newer counts: the store died before the other's file was gone. */
static bool
make_room(struct session *session, const struct level_record *record)
{
    struct gr_slot *slot = index_find(&session->index, record->id);
    struct store *store = session->store;
    struct index_object older;

    if (slot == NULL) {
        return true;
    }
    older = slot_object(slot);
    if (older.stamp >= record->stamp) {
        return false;
    }
    index_remove(&session->index, slot);
    account_take(&store->account, GR_ACCOUNT_OBJECTS, 1);
    account_take(&store->account, GR_ACCOUNT_OBJECTS_SPILLED, 1);
    account_take(&store->account, GR_ACCOUNT_SPILLED, older.data_size + older.meta_size);
    file_release(store, older.where, GR_FOOTPRINT(older.data_size, (uint64_t)older.meta_size));
    return true;
}

static granary_err
on_record(void *context, const struct level_file *from, const struct level_record *record)
{
    struct revival *revival = context;
    struct store *store = revival->store;
    uint64_t footprint = GR_FOOTPRINT(record->data_size, (uint64_t)record->meta_size);
    struct spill_file *file = revival->file == from->number ? file_find(store, from->number) : NULL;
    struct gr_slot *slot;
    granary_err err;

    if (file == NULL || !make_room(file->session, record)) {
        return GRANARY_OK;
    }
    root_stamp_beyond(&store->root, record->stamp);
    err = index_insert_spilled(&file->session->index,
                               &(struct index_object){.id = record->id,
                                                      .serial = root_serial(&store->root),
                                                      .offset = record->place,
                                                      .data_size = record->data_size,
                                                      .meta_size = record->meta_size,
                                                      .where = file->number,
                                                      .flags = GR_FLAG_ON_DISK | GR_FLAG_PERSISTENT,
                                                      .stamp = record->stamp},
                               &slot);
    if (err != GRANARY_OK) {
        return err;
    }
    file_hold(file, footprint);
    file->raw += footprint;
    account_add(&store->account, GR_ACCOUNT_OBJECTS, 1);
    account_add(&store->account, GR_ACCOUNT_OBJECTS_SPILLED, 1);
    account_add(&store->account, GR_ACCOUNT_SPILLED, record->data_size + record->meta_size);
    revival->objects++;
    return GRANARY_OK;
}

granary_err
revive(struct store *store)
{
    struct revival revival = {.store = store};
    const struct level_visitor visitor = {.context = &revival, .file = on_file, .record = on_record};
    granary_err err = GRANARY_OK;

    for (unsigned i = 0; i < GR_SPILL_DIRS && err == GRANARY_OK; i++) {
        revival.depot = &store->depots->of[i];
        if (revival.depot->ops != NULL) {
            err = revival.depot->ops->scan(revival.depot->self, &visitor);
            file_ends(&revival);
        }
    }
    if (revival.objects > 0) {
        gr_log_info("REVIVED", "objects=%llu", (unsigned long long)revival.objects);
    }
    return err;
}
