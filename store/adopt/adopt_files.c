/* What the spill files say of themselves is the truth about them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/log.h"
#include "store/adopt/adopt_parts.h"
#include "store/object/session.h"
#include "store/segment/depot.h"

/* Files that cannot be read, and are in nobody's way either. What is known to be of no use is another thing: one that
 * was never completed, or is damaged. */
static bool
is_foreign(const struct level_file *file)
{
    return (file->err != GRANARY_OK && file->err != GRANARY_ESTATE && file->err != GRANARY_ECORRUPT) ||
           file->number == 0;
}

/* What is damaged may be the only copy of somebody's persistent objects: it is told, and left to them. */
static bool
is_left(const struct level_file *file)
{
    return file->err == GRANARY_ECORRUPT && !level_is_litter(file);
}

/* The last store died while it deleted the session of that name. */
static bool
was_ended(const struct adoption *adoption, const char *name)
{
    for (size_t i = 0; i < adoption->ended_count; i++) {
        if (strcmp(adoption->ended[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static granary_err
on_file(void *context, const struct level_file *file)
{
    struct adoption *adoption = context;
    struct store *store = adoption->store;
    struct session *session = file->session[0] == '\0' ? NULL : session_find(store, file->session);
    _Atomic uint32_t *next = &store->root.shm->next_file;

    if (file->number >= atomic_load(next) && file->number < UINT32_MAX) {
        atomic_store(next, file->number + 1);
    }
    if (file->err == GRANARY_ENOMEM) {
        return GRANARY_ENOMEM; /* of this process, or of descriptors: the file may be fine */
    }
    if (is_foreign(file)) {
        gr_log_warn("SPILL-FILE-FOREIGN", "file=%s why=%s", file->path, granary_error_message());
        return GRANARY_OK;
    }
    if (is_left(file)) {
        gr_log_error("SPILL-FILE-DAMAGED",
                     "file=%s why=%s: it may hold persistent objects, and is left as it is; "
                     "restore it from a backup, or remove it",
                     file->path, granary_error_message());
        return GRANARY_OK;
    }
    if (file->err == GRANARY_OK && session == NULL && (file->flags & LEVEL_FILE_PERSISTENT) != 0 &&
        !was_ended(adoption, file->session)) {
        return GRANARY_OK; /* of an earlier life of the machine */
    }
    if (file->err != GRANARY_OK || session == NULL) { /* never completed, damaged, or of a session that was deleted */
        if (file->err != GRANARY_OK && file->err != GRANARY_ESTATE) {
            gr_log_error("SPILL-FILE-DAMAGED", "file=%s why=%s", file->path, granary_error_message());
        }
        (void)unlink(file->path);
        FAULT_STEP(adopt_file_unlinked);
        return GRANARY_OK;
    }
    if (file_find(store, file->number) != NULL) {
        gr_log_warn("SPILL-FILE-FOREIGN", "file=%s why=there is one of that number already", file->path);
        return GRANARY_OK;
    }
    return file_add(store, adoption->depot, session, file, file->bytes) != NULL
               ? GRANARY_OK
               : gr_fail(GRANARY_ENOMEM, "no memory for what spill files hold");
}

static granary_err
on_record(void *context, const struct level_file *file, const struct level_record *record)
{
    struct adoption *adoption = context;
    struct spill_file *known = file_find(adoption->store, file->number);

    if (known == NULL || known->depot != adoption->depot) {
        return GRANARY_OK;
    }
    known->raw += GR_FOOTPRINT(record->data_size, (uint64_t)record->meta_size);
    if (adoption->copy_count == adoption->copy_room) {
        size_t room = adoption->copy_room == 0 ? 1024 : adoption->copy_room * 2;
        struct adopt_copy *more = realloc(adoption->copies, room * sizeof *more);

        if (more == NULL) {
            return gr_fail(GRANARY_ENOMEM, "no memory for what spill files hold");
        }
        adoption->copies = more;
        adoption->copy_room = room;
    }
    adoption->copies[adoption->copy_count++] = (struct adopt_copy){.stamp = record->stamp,
                                                                   .id = record->id,
                                                                   .data_size = record->data_size,
                                                                   .place = record->place,
                                                                   .meta_size = record->meta_size,
                                                                   .file = file->number,
                                                                   .depot = known->depot->name};
    return GRANARY_OK;
}

static int
by_stamp(const void *a, const void *b)
{
    const struct adopt_copy *left = a;
    const struct adopt_copy *right = b;

    return left->stamp != right->stamp ? (left->stamp < right->stamp ? -1 : 1)
                                       : (left->file > right->file) - (left->file < right->file);
}

granary_err
adopt_scan(struct adoption *adoption)
{
    struct store *store = adoption->store;
    const struct level_visitor visitor = {.context = adoption, .file = on_file, .record = on_record};
    granary_err err = GRANARY_OK;

    for (unsigned i = 0; i < DEPOT_PLACES && err == GRANARY_OK; i++) {
        adoption->depot = &store->depots->of[i];
        if (adoption->depot->ops != NULL) {
            err = adoption->depot->ops->scan(adoption->depot->self, &visitor);
        }
    }
    if (err == GRANARY_OK && adoption->copy_count > 0) {
        qsort(adoption->copies, adoption->copy_count, sizeof *adoption->copies, by_stamp);
    }
    return err;
}

unsigned
adopt_find_copies(const struct adoption *adoption, const struct index_object *object,
                  const struct adopt_copy *ret_copies[DEPOTS])
{
    size_t low = 0;
    size_t high = adoption->copy_count;
    unsigned found = 0;

    for (int depot = 0; depot < DEPOTS; depot++) {
        ret_copies[depot] = NULL;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (adoption->copies[middle].stamp < object->stamp) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < adoption->copy_count && adoption->copies[low].stamp == object->stamp; low++) {
        const struct adopt_copy *copy = &adoption->copies[low];
        const struct adopt_copy **place = &ret_copies[copy->depot];

        if (memcmp(&copy->id, &object->id, sizeof copy->id) != 0 || copy->data_size != object->data_size ||
            copy->meta_size != object->meta_size) {
            continue;
        }
        found += *place == NULL;
        /* A file that was being rewritten may be there in its old and its new form. */
        *place = *place == NULL || copy->file == object->where ? copy : *place;
    }
    return found;
}

struct spill_file *
adopt_missing_file(struct session *session, uint32_t number)
{
    const struct level_file missing = {.number = number};
    struct store *store = session->store;
    struct spill_file *file = file_find(store, number);

    if (file == NULL && (file = file_add(store, &store->depots->of[DEPOT_DISK], session, &missing, 0)) != NULL) {
        file->stuck = true;
        file->holders = 0;
    }
    return file;
}

void
adopt_release_files(struct adoption *adoption)
{
    struct store *store = adoption->store;
    struct map_entry *entry;
    size_t position = 0;
    size_t count = 0;
    uint32_t *numbers = calloc(store->depots->files.count + 1, sizeof *numbers);

    while (numbers != NULL && (entry = map_next(&store->depots->files, &position)) != NULL) {
        const struct spill_file *file = entry->value.pointer;

        if (!file->stuck) {
            numbers[count++] = file->number;
        }
    }
    for (size_t i = 0; i < count; i++) { /* the one who found it lets go: without any other, it goes */
        file_release(store, numbers[i], 0);
    }
    free(numbers);
}
