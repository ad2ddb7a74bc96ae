/* Sessions: their control pages made, adopted, published and closed. */
#include "store/object/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/text/text.h"
#include "store/base/shmfile.h"
#include "store/core/admit.h"
#include "store/core/core.h"
#include "store/core/events.h"
#include "store/core/shared.h"
#include "store/object/alias.h"
#include "store/object/contain.h"
#include "store/object/name.h"
#include "store/object/object.h"
#include "store/object/slice.h"
#include "store/segment/victim.h"

#define DEFAULT "default"

static granary_err
control_create(struct session *session)
{
    struct store *store = session->store;
    struct gr_control *control;
    char name[96];
    void *bytes;
    granary_err err;
    int fd = -1;

    shmfile_name(name, store->instance.shm_prefix, session->number, "control", SHMFILE_NO_NUMBER);
    err = shmfile_create_mapped(name, sizeof *control, &fd, &bytes);
    if (err != GRANARY_OK) {
        return err;
    }
    gr_fd_close(&fd);
    control = bytes;
    control->version = store->root.shm->version;
    control->session = session->number;
    atomic_store_explicit(&control->epoch, atomic_load(&store->root.shm->epoch), memory_order_relaxed);
    atomic_store_explicit(&control->store_pid, (uint32_t)getpid(), memory_order_relaxed);
    control->created_ms = (uint64_t)gr_wall_ms();
    (void)snprintf(control->session_name, sizeof control->session_name, "%s", session->name);
    session->control = control;
    return GRANARY_OK;
}

struct session *
session_find(const struct store *store, const char *name)
{
    name = name[0] == '\0' ? DEFAULT : name;
    list_each (struct session, session, &store->sessions.all, in_store) {
        if (strcmp(session->name, name) == 0) {
            return session;
        }
    }
    return NULL;
}

void
session_name_own(const struct client *client, char name[64])
{
    if (client->store->clients.group != STORE_NO_GROUP && client->uid != geteuid() &&
        (name[0] == '\0' || strcmp(name, DEFAULT) == 0)) {
        (void)snprintf(name, 64, DEFAULT "-%u", (unsigned)client->uid);
    }
}

struct session *
session_by_number(const struct store *store, uint32_t number)
{
    list_each (struct session, session, &store->sessions.all, in_store) {
        if (session->number == number) {
            return session;
        }
    }
    return NULL;
}

void
session_set_state(struct session *session, enum gr_control_state state)
{
    struct gr_control *control = session->control;

    atomic_store_explicit(&control->state, state, memory_order_release);
    FAULT_STEP(session_state);
    atomic_fetch_add_explicit(&control->life, 1, memory_order_seq_cst);
    gr_futex_wake(&control->life);
}

void
session_used(struct session *session)
{
    struct store *store = session->store;

    atomic_store_explicit(&session->control->last_used_ms, (uint64_t)gr_wall_ms(), memory_order_relaxed);
    session->idle_since_ns = gr_now_ns();
    store->sessions.idle_check_ns = 0;
}

granary_err
session_check_owner(const struct session *session, const struct client *client)
{
    uid_t uid = (uid_t)atomic_load_explicit(&session->control->uid, memory_order_relaxed);

    return client->uid == uid || client->uid == geteuid()
               ? GRANARY_OK
               : gr_fail(GRANARY_EPERM,
                         "session '%s': belongs to uid %u: name one of your own, or one that is made to be shared",
                         session->name, (unsigned)uid);
}

granary_err
session_check_user(const struct session *session, const struct client *client)
{
    return (session->control->flags & GR_CONTROL_SHARED) != 0 ? GRANARY_OK : session_check_owner(session, client);
}

/* Empty, in no list; nothing of it is in shared memory yet. */
static granary_err
session_alloc(struct store *store, uint32_t number, struct session **ret_session)
{
    struct session *session = calloc(1, sizeof *session);

    if (session == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a session");
    }
    session->store = store;
    session->number = number;
    session->ledger.fd = -1;
    list_init(&session->in_store);
    list_init(&session->clients);
    list_init(&session->segments);
    list_init(&session->moves);
    list_init(&session->in_arenas);
    list_init(&session->in_awake);
    list_init(&session->in_shown);
    list_init(&session->in_supply_asked);
    list_init(&session->in_quota_waits);
    victim_session_init(session);
    list_init(&session->families_pending);
    list_init(&session->families_settling);
    list_init(&session->families_ending);
    session->names = (struct tree){&name_order, &session->ledger, 0};
    *ret_session = session;
    return GRANARY_OK;
}

static void
session_enter(struct session *session)
{
    list_append(&session->store->sessions.all, &session->in_store);
    list_append(&session->store->sessions.shown, &session->in_shown);
    atomic_store_explicit(&session->control->store_sleeping, 1, memory_order_relaxed);
    session->store->sessions.count++;
}

static granary_err
session_create(struct store *store, const char *name, uid_t uid, struct session **ret_session)
{
    const char *prefix = store->instance.shm_prefix;
    uint32_t number = root_number(&store->root.shm->next_session);
    struct session *session;
    granary_err err = session_alloc(store, number, &session);

    if (err != GRANARY_OK) {
        return err;
    }
    (void)snprintf(session->name, sizeof session->name, "%s", name);
    if ((err = control_create(session)) != GRANARY_OK ||
        (err = index_create(&session->index, prefix, number, &session->control->depth)) != GRANARY_OK ||
        (err = ledger_create(&session->ledger, prefix, number, store->root.shm->version,
                             &store->root.shm->next_token)) != GRANARY_OK) {
        session_destroy(session);
        return gr_fail_in(err, "session '%s'", name);
    }
    session_enter(session);
    session_publish(session);
    atomic_store_explicit(&session->control->uid, uid, memory_order_relaxed);
    session_used(session);
    session_set_state(session, GR_CONTROL_SERVING);
    FAULT_STEP(session_before_magic);
    atomic_store_explicit(&session->control->magic, GR_CONTROL_MAGIC, memory_order_release);
    FAULT_STEP(session_made);
    event_note(store, session, GR_EVENT_SESSION, NULL, 0, 0, 0);
    *ret_session = session;
    return GRANARY_OK;
}

static granary_err
control_adopt(struct session *session)
{
    struct store *store = session->store;
    struct gr_control *control;
    granary_err err = GRANARY_OK;
    char name[96];
    struct stat st;
    void *bytes = MAP_FAILED;
    int fd;

    shmfile_name(name, store->instance.shm_prefix, session->number, "control", SHMFILE_NO_NUMBER);
    fd = gr_shm_open(name, O_RDWR);
    if (fd < 0 ? !gr_shm_is_missing() : fstat(fd, &st) < 0) {
        err = gr_fail_errno("shared memory %s", name);
    } else if (fd < 0 || (uint64_t)st.st_size < sizeof *control) {
        err = GRANARY_ENOENT;
    } else if ((bytes = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED) {
        err = gr_fail_errno("shared memory %s: map", name);
    }
    gr_fd_close(&fd);
    if (err != GRANARY_OK) {
        return err;
    }
    control = bytes;
    session->control = control;
    if (atomic_load_explicit(&control->magic, memory_order_acquire) != GR_CONTROL_MAGIC) {
        return GRANARY_ENOENT;
    }
    if (control->version != store->root.shm->version || control->session != session->number ||
        memchr(control->session_name, '\0', sizeof control->session_name) == NULL) {
        return gr_fail(GRANARY_ECORRUPT, "shared memory %s is not what it should be", name);
    }
    memcpy(session->name, control->session_name, sizeof session->name);
    if (session_is_closed(session)) {
        return GRANARY_ENOENT;
    }
    atomic_store(&control->epoch, atomic_load(&store->root.shm->epoch));
    atomic_store(&control->store_pid, (uint32_t)getpid());
    session_set_state(session, GR_CONTROL_ADOPTING);
    return GRANARY_OK;
}

granary_err
session_adopt(struct store *store, uint32_t number, char ret_ended[64])
{
    const char *prefix = store->instance.shm_prefix;
    struct session *session;
    uint32_t dropped = 0;
    char name[96];
    granary_err err = session_alloc(store, number, &session);

    ret_ended[0] = '\0';
    if (err != GRANARY_OK) {
        return err;
    }
    err = control_adopt(session);
    if (err == GRANARY_ENOENT) {
        (void)snprintf(ret_ended, 64, "%s", session->name);
    }
    if (err != GRANARY_OK ||
        (err = index_adopt(&session->index, prefix, number, &session->control->depth)) != GRANARY_OK) {
        session_close(session);
        return err;
    }
    err = ledger_adopt(&session->ledger, prefix, number, &store->root.shm->next_token, &dropped);
    if (err == GRANARY_ENOENT || err == GRANARY_ECORRUPT) { /* objects are worth more than what was said about them */
        gr_log_error("LEDGER-LOST", "session=%s why=%s", session->name, granary_error_message());
        shmfile_name(name, prefix, number, "ledger", SHMFILE_NO_NUMBER);
        (void)shm_unlink(name);
        err = ledger_create(&session->ledger, prefix, number, store->root.shm->version, &store->root.shm->next_token);
    }
    err = err == GRANARY_OK ? alias_adopt(session) : err;
    if (err != GRANARY_OK) {
        err = gr_fail_in(err, "session '%s'", session->name);
        session_close(session);
        return err;
    }
    atomic_store(&session->control->deleting, 0);
    session_enter(session);
    session_used(session);
    events_adopt_session(session);
    return shared_adopt(session);
}

/* Whether there may be one more, of that name. */
static granary_err
check_new(const struct store *store, const char *name)
{
    granary_err err = gr_text_check(name, strlen(name), "a session's name");

    return err != GRANARY_OK || store->sessions.count < store->sessions.most
               ? err
               : gr_fail(GRANARY_EFULL, "session '%s': there are %u sessions already", name, store->sessions.most);
}

granary_err
session_get(struct store *store, const char *name, uid_t uid, struct session **ret_session)
{
    granary_err err = GRANARY_OK;

    name = name[0] == '\0' ? DEFAULT : name;
    *ret_session = session_find(store, name);
    if (*ret_session == NULL && (err = check_new(store, name)) == GRANARY_OK &&
        (err = admit_session(store, uid)) == GRANARY_OK) {
        err = session_create(store, name, uid, ret_session);
    }
    return err;
}

granary_err
session_revive(struct store *store, const struct level_file *file, struct session **ret_session)
{
    uid_t uid = (file->flags & LEVEL_FILE_OWNED) != 0 ? (uid_t)file->uid : geteuid();
    granary_err err = GRANARY_OK;

    *ret_session = session_find(store, file->session);
    if (*ret_session == NULL && (err = check_new(store, file->session)) == GRANARY_OK) {
        err = session_create(store, file->session, uid, ret_session);
    }
    /* Of its files the first may be of an earlier release, which did not say. */
    if (err == GRANARY_OK && (file->flags & LEVEL_FILE_OWNED) != 0) {
        atomic_store_explicit(&(*ret_session)->control->uid, uid, memory_order_relaxed);
        (*ret_session)->control->flags = file->session_flags & (GR_CONTROL_STRICT | GR_CONTROL_SHARED);
    }
    return err;
}

void
session_close(struct session *session)
{
    session_forget_touched(session);
    if (!list_empty(&session->in_store)) {
        session->store->sessions.count--;
    }
    list_remove(&session->in_store);
    list_remove(&session->in_awake);
    list_remove(&session->in_shown);
    list_remove(&session->in_quota_waits);
    slices_fini(session);
    index_close(&session->index);
    if (session->control != NULL) {
        (void)munmap(session->control, sizeof *session->control);
    }
    alias_fini(session);
    contain_fini(session);
    ledger_close(&session->ledger);
    map_free(&session->leases);
    map_free(&session->on_disk);
    map_free(&session->on_remote);
    map_free(&session->copying);
    free(session->deleting);
    free(session);
}

void
session_destroy(struct session *session)
{
    char name[96];

    shmfile_name(name, session->store->instance.shm_prefix, session->number, "control", SHMFILE_NO_NUMBER);
    events_close_session(session);
    shared_close(session);
    index_fini(&session->index);
    ledger_fini(&session->ledger);
    FAULT_STEP(session_files_gone);
    (void)shm_unlink(name);
    session_close(session);
}

static void
keep_small(struct session *session, bool small)
{
    session->index.kept_small = session->ledger.kept_small = small;
}

void
session_publish(struct session *session)
{
    struct store *store = session->store;
    uint64_t bytes = index_bytes(&session->index) + ledger_bytes(&session->ledger);

    if (session->index_seen != bytes) {
        account_add(&store->account, GR_ACCOUNT_INDEX, bytes - session->index_seen);
        session->index_seen = bytes;
        keep_small(session, !admit_growth(session));
    } else if (session->ledger.kept_small) { /* others may have gone */
        keep_small(session, !admit_growth(session));
    }
    if (session->splits_seen != session->index.splits) {
        count(session, GR_COUNTER_index_splits, session->index.splits - session->splits_seen);
        session->splits_seen = session->index.splits;
    }
    if (session->account_seen == store->account.changes) {
        return;
    }
    store->account.bytes[GR_ACCOUNT_CLIENTS] = store->clients.rings;
    account_publish(&store->account, session->control);
    session->account_seen = store->account.changes;
}
