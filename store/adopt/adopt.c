/* Adoption: descriptors of what is left are opened first, then sessions, objects and clients in that order. */
#include "store/adopt/adopt.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/futex.h"
#include "base/log.h"
#include "store/adopt/adopt_parts.h"
#include "store/flow/read/restore.h"
#include "store/flow/spare.h"
#include "store/object/counted.h"
#include "store/object/hold.h"
#include "store/object/object.h"
#include "store/object/session.h"
#include "store/segment/audit.h"
#include "store/segment/segment.h"

/* The name of a file of a session: "s<session>.<kind><number>". */
struct file_name {
    uint32_t session;
    char kind[16];
    uint32_t number; /* SHMFILE_NO_NUMBER: none */
};

static bool
parse_name(const char *name, struct file_name *ret_name)
{
    char *end;
    size_t length;

    if (name[0] != 's') {
        return false;
    }
    ret_name->session = (uint32_t)strtoul(name + 1, &end, 10);
    if (end == name + 1 || *end != '.') {
        return false;
    }
    length = strspn(end + 1, "abcdefghijklmnopqrstuvwxyz");
    if (length == 0 || length >= sizeof ret_name->kind) {
        return false;
    }
    memcpy(ret_name->kind, end + 1, length);
    ret_name->kind[length] = '\0';
    end += 1 + length;
    ret_name->number = *end == '\0' ? SHMFILE_NO_NUMBER : (uint32_t)strtoul(end, &end, 10);
    return *end == '\0';
}

/* Call visit with each file of the instance, its name without the prefix. */
static granary_err
each_file(const struct gr_instance *instance, granary_err (*visit)(void *context, const char *name), void *context)
{
    size_t length = strlen(instance->shm_prefix + 1);
    granary_err err = GRANARY_OK;
    struct dirent *entry;
    DIR *dir = opendir("/dev/shm");

    if (dir == NULL) {
        return gr_fail_errno("/dev/shm");
    }
    while (err == GRANARY_OK && (errno = 0, entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, instance->shm_prefix + 1, length) == 0) {
            err = visit(context, entry->d_name + length);
        }
    }
    if (err == GRANARY_OK && errno != 0) { /* what was not told of would be taken for gone */
        err = gr_fail_errno("/dev/shm");
    }
    (void)closedir(dir);
    return err;
}

struct sum {
    const struct gr_instance *instance;
    uint64_t bytes;
};

static granary_err
add_bytes(void *context, const char *name)
{
    struct sum *sum = context;
    char path[160];
    struct stat st;

    (void)snprintf(path, sizeof path, "/dev/shm%s%s", sum->instance->shm_prefix, name);
    sum->bytes += stat(path, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
    return GRANARY_OK;
}

uint64_t
adopt_bytes(const struct gr_instance *instance)
{
    struct sum sum = {.instance = instance};

    (void)each_file(instance, add_bytes, &sum);
    return sum.bytes;
}

/* Files of its own that are meant to outlive everything else must go with it. */
static granary_err
note_ended(struct adoption *adoption, const char *name)
{
    char(*more)[64] = realloc(adoption->ended, (adoption->ended_count + 1) * sizeof *more);

    if (more == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to finish the deletion of session '%s'", name);
    }
    adoption->ended = more;
    (void)snprintf(more[adoption->ended_count++], sizeof *more, "%s", name);
    gr_log_info("SESSION-DELETED", "session=%s: begun by the last store", name);
    return GRANARY_OK;
}

static granary_err
adopt_session(void *context, const char *text)
{
    struct adoption *adoption = context;
    struct file_name name;
    char ended[64];
    granary_err err;

    if (!parse_name(text, &name) || strcmp(name.kind, "control") != 0) {
        return GRANARY_OK;
    }
    err = session_adopt(adoption->store, name.session, ended);
    if (err == GRANARY_ENOENT || err == GRANARY_ECORRUPT) { /* its files go with the strays */
        if (err == GRANARY_ECORRUPT) {
            gr_log_error("SESSION-LOST", "session=%u why=%s", name.session, granary_error_message());
            adoption->sessions_lost++;
        }
        err = ended[0] == '\0' ? GRANARY_OK : note_ended(adoption, ended);
    }
    return err;
}

/* Files nobody knows: of sessions that were being made or deleted, and what a store died in the middle of making. */
static granary_err
sweep_stray(void *context, const char *text)
{
    struct adoption *adoption = context;
    const struct store *store = adoption->store;
    const struct session *session;
    bool known = true;
    struct file_name name;
    char full[96];

    if (!parse_name(text, &name)) {
        return GRANARY_OK;
    }
    session = session_by_number(store, name.session);
    if (session == NULL) {
        known = false;
    } else if (strcmp(name.kind, "data") == 0) {
        known = store_segment(store, name.number) != NULL;
    } else if (strcmp(name.kind, "lease") == 0) {
        known = false;
        list_each (const struct client, client, &session->clients, in_session) {
            known = known || client->number == name.number;
        }
    }
    if (!known) {
        (void)snprintf(full, sizeof full, "%s%s", store->instance.shm_prefix, text);
        (void)shm_unlink(full);
        gr_log_info("STRAY-SWEPT", "file=%s", text);
        FAULT_STEP(adopt_stray_swept);
    }
    return GRANARY_OK;
}

/* What all segments together are, whatever of that has no memory behind it. */
static uint64_t
segment_bytes(const struct store *store)
{
    uint64_t bytes = 0;
    size_t position = 0;
    struct map_entry *entry;

    while ((entry = map_next(&store->segments.by_number, &position)) != NULL) {
        bytes += ((const struct segment *)entry->value.pointer)->size;
    }
    return bytes;
}

static bool
is_joined(const struct store *store, uint32_t number)
{
    list_each (const struct client, client, &store->clients.all, in_store) {
        if (client->number == number) {
            return true;
        }
    }
    return false;
}

/* Everything that is there is known afterwards; nothing that was going on has been finished yet. */
static granary_err
gather(struct adoption *adoption, uint64_t capacity)
{
    struct store *store = adoption->store;
    uint64_t there;
    granary_err err;

    if ((err = each_file(&store->instance, adopt_session, adoption)) != GRANARY_OK ||
        (err = adopt_clients(adoption)) != GRANARY_OK || (err = adopt_segments(adoption)) != GRANARY_OK) {
        return err;
    }
    there = segment_bytes(store);
    adoption->tight = there > capacity;
    account_resize(&store->account, there > capacity ? there : capacity);
    err = adopt_scan(adoption);
    list_each (struct session, session, &store->sessions.all, in_store) {
        if (err == GRANARY_OK) {
            err = adopt_slots(adoption, session);
        }
    }
    return err == GRANARY_OK ? adopt_places(adoption) : err;
}

/* The budget, or what is there when that is more. */
static void
fit(struct store *store, uint64_t capacity)
{
    uint64_t used = store->account.bytes[GR_ACCOUNT_CAPACITY] - store->account.bytes[GR_ACCOUNT_FREE];

    if (used > capacity) {
        gr_log_warn("MEMORY-RAISED", "the budget of %llu bytes is less than what is there: it is %llu bytes now",
                    (unsigned long long)capacity, (unsigned long long)used);
    }
    account_resize(&store->account, used > capacity ? used : capacity);
}

/* What was going on when the last store died comes to its end. */
static granary_err
finish(struct store *store)
{
    granary_err err;

    list_each (struct session, session, &store->sessions.all, in_store) {
        if ((err = hold_adopt(session, is_joined)) != GRANARY_OK) {
            return gr_fail_in(err, "session '%s'", session->name);
        }
        restore_pinned(session);
        session_publish(session);
    }
    adopt_finish_entries(store);
    adopt_drop_gone(store);
    spare_adopt(store);
    list_each (struct client, client, &store->clients.all, in_store) {
        counted_settle(client);
    }
    list_each (struct session, session, &store->sessions.all, in_store) {
        unsigned looks;

        do {
            looks = UINT_MAX;
        } while (session_recheck_deleting(session, &looks));
    }
    return GRANARY_OK;
}

granary_err
adopt(struct store *store, uint64_t capacity)
{
    struct adoption adoption = {.store = store};
    int64_t start_ns = gr_now_ns();
    granary_err err = gather(&adoption, capacity);

    if (err != GRANARY_OK) {
        goto out;
    }
    fit(store, capacity);
    if ((err = finish(store)) != GRANARY_OK) {
        goto out;
    }
    adopt_release_files(&adoption);
    (void)each_file(&store->instance, sweep_stray, &adoption);
    if (!store_audit(store)) {
        gr_log_error("AUDIT-FAILED", "the account of what was adopted does not balance");
    }
    gr_log_info("ADOPTED", "sessions=%u clients=%u objects=%llu spilled=%llu lost=%llu damaged=%llu ms=%lld",
                store->sessions.count, store->clients.rings,
                (unsigned long long)store->account.bytes[GR_ACCOUNT_OBJECTS],
                (unsigned long long)store->account.bytes[GR_ACCOUNT_OBJECTS_SPILLED], (unsigned long long)adoption.lost,
                (unsigned long long)adoption.damaged, (long long)((gr_now_ns() - start_ns) / 1000000));
    if (adoption.lost + adoption.damaged + adoption.sessions_lost > 0) {
        event_note(store, NULL, GR_EVENT_LOST, NULL, adoption.lost + adoption.damaged, adoption.sessions_lost, 0);
    }
out:
    free(adoption.copies);
    free(adoption.pieces);
    free(adoption.ended);
    return err;
}

void
adopt_announce(struct store *store)
{
    list_each (struct session, session, &store->sessions.all, in_store) {
        struct gr_control *control = session->control;

        /* Whatever was about to be told when the last store died: everybody looks again. */
        for (unsigned i = 0; i < GR_WAIT_WORDS; i++) {
            atomic_fetch_add(&control->wait[i], 1);
            gr_futex_wake(&control->wait[i]);
        }
        atomic_fetch_add(&control->any, 1);
        gr_futex_wake(&control->any);
        session_set_state(session, GR_CONTROL_SERVING);
    }
}
