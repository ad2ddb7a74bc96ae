/* Compaction in turns: choose files, read their indexes, write what lives, book it, and let the old ones go. */
#include "store/flow/compact.h"
#include "store/core/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "store/core/events.h"
#include "store/object/copy.h"
#include "store/segment/depot.h"

#define LOOK_NS   50000000   /* after a file lost an object, so that many are seen at once */
#define RETRY_NS  1000000000 /* after one that failed */
#define MOST      8u         /* files rewritten into one */
#define MOST_LIVE ((uint64_t)64 << 20)

/* The share of a file, or of all, that is dead, in percent: */
#define DEAD_FILE  50u /* a file that has more is rewritten */
#define DEAD_ALL   30u /* when all have more, disk use comes near 1.5 of what lives: the worst is rewritten ... */
#define DEAD_LEAST 10u /* ... if it has this much */

struct victim {
    uint32_t file;
    int fd;
};

/* One on its way: first the indexes of its victims are read, then what lives is copied. */
struct compaction {
    struct job job;
    struct session *session;
    struct depot *depot; /* of the victims */
    struct depot *into;
    struct victim victims[MOST];
    unsigned count;
    uint64_t bytes; /* of the victims */
    uint64_t live;  /* of their objects */
    struct level_file file;
    struct level_object *objects; /* place: where they lie in their victim, until they are copied */
    uint32_t *homes;              /* the victim of each, as an index */
    size_t object_count, object_room;
    unsigned reading; /* the victim whose index is read */
    uint64_t allowance;
    uint64_t written;
    granary_err err;
    char message[512];
};

static unsigned
dead_percent(const struct spill_file *file)
{
    /* Of files an earlier store wrote it is not known what they were made of. */
    uint64_t raw = file->raw > file->live ? file->raw : file->live > file->bytes ? file->live : file->bytes;

    return raw == 0 ? 0 : (unsigned)((raw - file->live) * 100 / raw);
}

static bool
may_rewrite(const struct spill_file *file)
{
    return !file->rewriting && !file->stuck && file->live > 0 && (file->flags & LEVEL_FILE_PERSISTENT) == 0;
}

/* The file with the largest dead share, if there is enough to be gained. */
static struct spill_file *
choose(struct store *store, int64_t now_ns)
{
    struct spill_file *worst = NULL;
    uint64_t bytes = 0;
    uint64_t dead = 0;
    struct map_entry *entry;
    size_t position = 0;

    while ((entry = map_next(&store->depots->files, &position)) != NULL) {
        struct spill_file *file = entry->value.pointer;
        unsigned percent = dead_percent(file);

        bytes += file->bytes;
        dead += file->bytes / 100 * percent;
        if (may_rewrite(file) && now_ns >= file->depot->retry_ns && (worst == NULL || percent > dead_percent(worst))) {
            worst = file;
        }
    }
    if (worst == NULL || dead_percent(worst) > DEAD_FILE) {
        return worst;
    }
    return dead > bytes / 100 * DEAD_ALL && dead_percent(worst) > DEAD_LEAST ? worst : NULL;
}

static void
add_victim(struct compaction *compaction, struct spill_file *file)
{
    compaction->victims[compaction->count++] = (struct victim){.file = file->number, .fd = -1};
    compaction->bytes += file->bytes;
    compaction->live += file->live;
    file->rewriting = true;
    file_hold(file, 0);
}

/* Others like it, so that what is left of several fits one file. */
static void
add_others(struct compaction *compaction, struct store *store)
{
    struct map_entry *entry;
    size_t position = 0;

    while ((entry = map_next(&store->depots->files, &position)) != NULL && compaction->count < MOST) {
        struct spill_file *file = entry->value.pointer;

        if (may_rewrite(file) && dead_percent(file) > DEAD_FILE && file->session == compaction->session &&
            file->depot == compaction->depot && compaction->live + file->live <= MOST_LIVE) {
            add_victim(compaction, file);
        }
    }
}

static granary_err
on_file(void *context, const struct level_file *file)
{
    (void)context;
    return file->err;
}

static granary_err
on_record(void *context, const struct level_file *file, const struct level_record *record)
{
    struct compaction *compaction = context;

    (void)file;
    if (compaction->object_count == compaction->object_room) {
        size_t room = compaction->object_room == 0 ? 256 : compaction->object_room * 2;
        struct level_object *objects = realloc(compaction->objects, room * sizeof *objects);
        uint32_t *homes;

        compaction->objects = objects == NULL ? compaction->objects : objects;
        homes = objects == NULL ? NULL : realloc(compaction->homes, room * sizeof *homes);
        compaction->homes = homes == NULL ? compaction->homes : homes;
        if (homes == NULL) {
            return gr_fail(GRANARY_ENOMEM, "no memory to rewrite a spill file");
        }
        compaction->object_room = room;
    }
    compaction->homes[compaction->object_count] = compaction->reading;
    compaction->objects[compaction->object_count++] = (struct level_object){.id = record->id,
                                                                            .data_size = record->data_size,
                                                                            .meta_size = record->meta_size,
                                                                            .stamp = record->stamp,
                                                                            .packed = true,
                                                                            .offset = record->place};
    return GRANARY_OK;
}

static void
read_indexes(struct job *job)
{
    struct compaction *compaction = list_owner(job, struct compaction, job);
    const struct depot *depot = compaction->depot;
    const struct level_visitor visitor = {.context = compaction, .file = on_file, .record = on_record};

    for (unsigned i = 0; i < compaction->count && compaction->err == GRANARY_OK; i++) {
        compaction->reading = i;
        compaction->err = depot->ops->records(depot->self, compaction->victims[i].file, &visitor);
    }
    if (compaction->err != GRANARY_OK) {
        (void)snprintf(compaction->message, sizeof compaction->message, "%s", granary_error_message());
    }
}

static void
write_live(struct job *job)
{
    struct compaction *compaction = list_owner(job, struct compaction, job);
    const struct depot *depot = compaction->depot;

    for (unsigned i = 0; i < compaction->count && compaction->err == GRANARY_OK; i++) {
        compaction->victims[i].fd = depot->ops->open_file(depot->self, compaction->victims[i].file, &compaction->err);
    }
    for (size_t i = 0; i < compaction->object_count; i++) {
        compaction->objects[i].fd = compaction->victims[compaction->homes[i]].fd;
    }
    if (compaction->err == GRANARY_OK) {
        compaction->err =
            compaction->into->ops->write(compaction->into->self, &compaction->file, compaction->objects,
                                         compaction->object_count, compaction->allowance, &compaction->written);
    }
    if (compaction->err != GRANARY_OK) {
        (void)snprintf(compaction->message, sizeof compaction->message, "%s", granary_error_message());
    }
    for (unsigned i = 0; i < compaction->count; i++) {
        gr_fd_close(&compaction->victims[i].fd);
    }
}

/* The slot of an object whose copy is the one in its victim; NULL: it needs it no more. */
static struct gr_slot *
needing(const struct compaction *compaction, size_t i, uint64_t place)
{
    const struct level_object *object = &compaction->objects[i];
    struct session *session = compaction->session;
    struct gr_slot *slot = index_find(&session->index, object->id);
    struct copy copy;

    if (slot == NULL || slot_object(slot).stamp != object->stamp ||
        !copy_find(session, slot, compaction->depot->name, &copy) ||
        copy.file != compaction->victims[compaction->homes[i]].file || copy.place != place) {
        return NULL;
    }
    return slot;
}

static void
keep_live(struct compaction *compaction)
{
    size_t kept = 0;

    for (size_t i = 0; i < compaction->object_count; i++) {
        if (needing(compaction, i, compaction->objects[i].offset) != NULL) {
            compaction->objects[kept] = compaction->objects[i];
            compaction->homes[kept++] = compaction->homes[i];
        }
    }
    compaction->object_count = kept;
}

/* Its victims are files like others again, if they are still there. */
static void
compaction_end(struct compaction *compaction, bool stuck)
{
    struct store *store = compaction->session->store;

    for (unsigned i = 0; i < compaction->count; i++) {
        struct spill_file *file = file_find(store, compaction->victims[i].file);

        file->rewriting = false;
        file->stuck = file->stuck || stuck;
        file_release(store, file->number, 0);
    }
    store->compact->running = NULL;
    compaction->session->jobs--;
    free(compaction->objects);
    free(compaction->homes);
    free(compaction);
}

static void
compaction_failed(struct compaction *compaction)
{
    struct store *store = compaction->session->store;

    gr_log_warn("COMPACTION-FAILED", "files=%u first=%u why=%s", compaction->count, compaction->victims[0].file,
                compaction->message);
    store->compact->look_ns = gr_now_ns() + RETRY_NS;
    compaction_end(compaction, compaction->err == GRANARY_ECORRUPT);
}

static void
compaction_done(struct job *job)
{
    struct compaction *compaction = list_owner(job, struct compaction, job);
    struct session *session = compaction->session;
    struct store *store = session->store;
    struct spill_file *file;

    if (compaction->err != GRANARY_OK) {
        compaction_failed(compaction);
        return;
    }
    file = file_add_new(store, compaction->into, session, &compaction->file, compaction->written);
    if (file != NULL) {
        for (size_t i = 0; i < compaction->object_count; i++) {
            const struct level_object *object = &compaction->objects[i];
            struct gr_slot *slot = needing(compaction, i, object->offset);

            if (slot != NULL && copy_add(session, slot, file, object->place)) {
                file->raw += slot_footprint(slot);
            }
        }
        count(session, GR_COUNTER_compactions, compaction->count);
        event_note(store, session, GR_EVENT_COMPACT, NULL, compaction->bytes, compaction->written, 0);
        file_release(store, file->number, 0);
    }
    compaction_end(compaction, false);
    store->depots->thinned = true;
}

static void
indexes_read(struct job *job)
{
    struct compaction *compaction = list_owner(job, struct compaction, job);
    struct session *session = compaction->session;
    struct store *store = session->store;
    bool ends = store->stopping || session_is_closed(session);

    if (compaction->err != GRANARY_OK) {
        compaction_failed(compaction);
        return;
    }
    keep_live(compaction);
    if (ends || compaction->object_count == 0) {
        compaction_end(compaction, false);
        return;
    }
    compaction->into = depot_choose(store, compaction->depot->name, compaction->live, 0, gr_now_ns());
    depot_charge(store, compaction->into, compaction->live);
    compaction->allowance = depot_allowance(store, compaction->into);
    file_sign(&compaction->file, session, 0);
    compaction->job = (struct job){.run = write_live, .done = compaction_done};
    workers_submit(store->workers, WORKER_WRITE, &compaction->job);
}

void
compact_init(struct compact *compact)
{
    compact->look_ns = INT64_MAX;
}

bool
compact_turn(struct store *store, int64_t now_ns)
{
    struct compaction *compaction;
    struct spill_file *file;

    if (store->depots->thinned && store->compact->look_ns == INT64_MAX) {
        store->compact->look_ns = now_ns + LOOK_NS;
    }
    store->depots->thinned = false;
    if (now_ns < store->compact->look_ns || store->compact->running != NULL) {
        return false;
    }
    store->compact->look_ns = INT64_MAX;
    file = choose(store, now_ns);
    compaction = file == NULL ? NULL : calloc(1, sizeof *compaction);
    if (compaction == NULL) {
        return false;
    }
    compaction->session = file->session;
    compaction->depot = file->depot;
    add_victim(compaction, file);
    add_others(compaction, store);
    store->compact->running = compaction;
    compaction->session->jobs++;
    compaction->job = (struct job){.run = read_indexes, .done = indexes_read};
    workers_submit(store->workers, WORKER_WRITE, &compaction->job);
    return false;
}

int64_t
compact_next_ns(const struct store *store)
{
    return store->depots->thinned ? 0 : store->compact->running != NULL ? INT64_MAX : store->compact->look_ns;
}
