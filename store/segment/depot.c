/* Depots: what each file is needed for is counted, and the last one lets a worker remove it. */
#include "store/segment/depot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "contract/executor_page.h"
#include "store/core/core.h"

#define RETRY_NS 1000000000
#define SAID_NS  60000000000

static const struct level_ops *const depot_ops[DEPOTS] = {[DEPOT_DISK] = &level_disk, [DEPOT_REMOTE] = &level_remote};

/* Where the last store's files lie; "" when there is nothing: a name that was damaged makes no directory. */
static const char *
left_in(const struct root *root, const char dir[sizeof root->shm->spill_dir])
{
    if (root->fresh || memchr(dir, '\0', sizeof root->shm->spill_dir) == NULL) {
        return "";
    }
    return access(dir, F_OK) < 0 && errno == ENOENT ? "" : dir;
}

/* A directory of this instance's own, so that two instances never meet in one. left: the last store's; wins. */
static granary_err
depot_open(struct store *store, enum depot_name which, const char *dir, const char *left, uint64_t quota)
{
    struct depot *depot = &store->depots->of[which];
    const char *own = store->instance.spill_default;
    const char *name = strrchr(own, '/') + 1;
    int length = dir == NULL ? snprintf(depot->dir, sizeof depot->dir, "%s", own)
                             : snprintf(depot->dir, sizeof depot->dir, "%s/%s", dir, name);
    granary_err err;

    if (length >= (int)sizeof depot->dir) {
        return gr_fail(GRANARY_EINVAL, "directory %s: path too long", dir);
    }
    if (left[0] != '\0' && strcmp(left, depot->dir) != 0) {
        gr_log_warn("DIRECTORY-KEPT", "objects of this instance lie in %s: it is used, not %s", left, depot->dir);
        (void)snprintf(depot->dir, sizeof depot->dir, "%s", left);
    }
    depot->quota = quota;
    err = depot_ops[which]->open(&(struct level_options){.dir = depot->dir}, &depot->self);
    if (err == GRANARY_OK) {
        depot->ops = depot_ops[which];
        if (store->root.fresh) {
            depot->ops->clear(depot->self);
        }
    }
    return err;
}

granary_err
depots_open(struct store *store, const struct store_options *options)
{
    struct level_capacity room;
    const struct gr_root *root = store->root.shm;
    const char *left_disk = left_in(&store->root, root->spill_dir);
    const char *left_remote = left_in(&store->root, root->remote_dir);
    granary_levels levels = options->levels;
    granary_err err = GRANARY_OK;

    if (levels == 0) {
        levels = GRANARY_LEVEL_MEMORY | GRANARY_LEVEL_DISK | (options->remote_dir == NULL ? 0u : GRANARY_LEVEL_REMOTE);
    }
    if ((levels & GRANARY_LEVEL_MEMORY) == 0) {
        return gr_fail(GRANARY_EINVAL, "--levels: memory is always one of them");
    }
    if ((levels & GRANARY_LEVEL_GPU) != 0 &&
        (err = level_gpu.probe(&(struct level_options){.dir = NULL}, &room)) != GRANARY_OK) {
        return gr_fail_in(err, "--levels: gpu");
    }
    if (((levels & GRANARY_LEVEL_REMOTE) != 0) != (options->remote_dir != NULL)) {
        return gr_fail(GRANARY_EINVAL, "the level remote and --remote-dir go together: give both, or none");
    }
    /* Where there are objects already is a level, whatever this store was told. */
    if ((levels & GRANARY_LEVEL_DISK) != 0 || left_disk[0] != '\0') {
        err = depot_open(store, DEPOT_DISK, options->spill_dir, left_disk, options->disk_quota_bytes);
    }
    if (err == GRANARY_OK && ((levels & GRANARY_LEVEL_REMOTE) != 0 || left_remote[0] != '\0')) {
        err = depot_open(store, DEPOT_REMOTE, options->remote_dir, left_remote, options->remote_quota_bytes);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "--remote-dir");
    }
    return err;
}

/* What user code printed goes with the instance. */
static void
remove_logs(const struct depot *depot)
{
    char path[sizeof depot->dir + sizeof GR_LOGS];

    (void)snprintf(path, sizeof path, "%s/" GR_LOGS, depot->dir);
    gr_remove_tree(path);
}

void
depots_close(struct store *store)
{
    for (int i = 0; i < DEPOTS; i++) {
        struct depot *depot = &store->depots->of[i];

        if (depot->ops != NULL) {
            if (!store->root.detached) {
                depot->ops->clear(depot->self);
                remove_logs(depot);
            }
            depot->ops->close(depot->self);
            depot->ops = NULL;
        }
    }
}

struct depot *
depot_to_spill(struct store *store, int64_t now_ns)
{
    for (int i = 0; i < DEPOTS; i++) {
        struct depot *depot = &store->depots->of[i];

        if (depot->ops != NULL && now_ns >= depot->retry_ns) {
            return depot;
        }
    }
    return NULL;
}

/* Those who wait for room are told why only when no other level can help. */
void
depot_failed(struct store *store, struct depot *depot, int64_t now_ns)
{
    depot->retry_ns = now_ns + RETRY_NS;
    if (depot_to_spill(store, now_ns) == NULL) {
        (void)snprintf(store->depots->error, sizeof store->depots->error, "%s", granary_error_message());
        store->depots->retry_ns = depot->retry_ns;
    }
}

void
depot_log_failure(struct depot *depot, uint32_t file, granary_err err, const char *why, int64_t now_ns)
{
    depot->unsaid++;
    if (depot->said_ns != 0 && depot->said == err && now_ns - depot->said_ns < SAID_NS) {
        return;
    }
    gr_log_warn("SPILL-FAILED", "file=%u times=%llu why=%s", file, (unsigned long long)depot->unsaid, why);
    depot->said_ns = now_ns;
    depot->said = err;
    depot->unsaid = 0;
}

uint64_t
depot_allowance(const struct depot *depot)
{
    return depot->quota == 0 ? UINT64_MAX : depot->quota - (depot->bytes < depot->quota ? depot->bytes : depot->quota);
}

struct depot *
depot_of(struct store *store, const struct spill_file *file)
{
    return &store->depots->of[file->depot];
}

uint64_t
depot_flag(const struct spill_file *file)
{
    return file->depot == DEPOT_DISK ? GR_FLAG_ON_DISK : GR_FLAG_REMOTE;
}

/* What a removal in a worker needs to know. */
struct removal {
    struct job job;
    struct session *session;
    struct depot *depot;
    uint32_t number;
    bool persistent;
};

/* Of files that go together the last one settles them all: each sync takes as long as one, and others wait for it. */
static void
file_remove(struct depot *depot, uint32_t number, bool persistent)
{
    depot->ops->remove(depot->self, number);
    if (persistent) {
        atomic_store(&depot->unsettled, true);
    }
    if (atomic_fetch_sub(&depot->removals, 1) == 1 && atomic_exchange(&depot->unsettled, false)) {
        depot->ops->settle(depot->self);
    }
}

static void
removal_run(struct job *job)
{
    const struct removal *removal = list_owner(job, struct removal, job);

    file_remove(removal->depot, removal->number, removal->persistent);
}

static void
removal_done(struct job *job)
{
    struct removal *removal = list_owner(job, struct removal, job);

    removal->session->jobs--;
    free(removal);
}

/* Unlinking a large file takes a while: not in the loop, if it can be helped. The session is not gone before it is. */
static void
remove_file(struct session *session, struct depot *depot, uint32_t number, bool persistent)
{
    struct store *store = session->store;
    struct removal *removal = store->workers == NULL ? NULL : calloc(1, sizeof *removal);

    (void)atomic_fetch_add(&depot->removals, 1);
    if (removal == NULL) {
        file_remove(depot, number, persistent);
        return;
    }
    *removal = (struct removal){.job = {.run = removal_run, .done = removal_done},
                                .session = session,
                                .depot = depot,
                                .number = number,
                                .persistent = persistent};
    session->jobs++;
    workers_submit(store->workers, WORKER_WRITE, &removal->job);
}

static enum gr_account
account_part(enum depot_name depot)
{
    return depot == DEPOT_DISK ? GR_ACCOUNT_DISK : GR_ACCOUNT_REMOTE;
}

void
file_sign(struct level_file *ret_file, const struct session *session, uint32_t flags)
{
    *ret_file = (struct level_file){
        .number = root_number(&session->store->root.shm->next_file),
        .flags = flags | LEVEL_FILE_OWNED,
        .uid = (uint32_t)atomic_load_explicit(&session->control->uid, memory_order_relaxed),
        .session_flags = session->control->flags,
    };
    (void)snprintf(ret_file->session, sizeof ret_file->session, "%s", session->name);
}

struct spill_file *
file_add(struct store *store, struct depot *depot, struct session *session, const struct level_file *made,
         uint64_t bytes)
{
    struct spill_file *file = calloc(1, sizeof *file);
    struct map_entry *entry = file == NULL ? NULL : map_add(&store->depots->files, map_key_number(made->number));

    if (entry == NULL) {
        free(file);
        return NULL;
    }
    *file = (struct spill_file){
        .number = made->number,
        .depot = (enum depot_name)(depot - store->depots->of),
        .session = session,
        .flags = made->flags,
        .holders = 1,
        .bytes = bytes,
    };
    entry->value.pointer = file;
    depot->bytes += bytes;
    account_add(&store->account, account_part(file->depot), bytes);
    return file;
}

struct spill_file *
file_add_new(struct store *store, struct depot *depot, struct session *session, const struct level_file *made,
             uint64_t bytes)
{
    struct spill_file *file = file_add(store, depot, session, made, bytes);

    if (file == NULL) {
        remove_file(session, depot, made->number, (made->flags & LEVEL_FILE_PERSISTENT) != 0);
    }
    return file;
}

struct spill_file *
file_find(const struct store *store, uint32_t number)
{
    struct map_entry *entry = number == 0 ? NULL : map_find(&store->depots->files, map_key_number(number));

    return entry == NULL ? NULL : entry->value.pointer;
}

void
file_hold(struct spill_file *file, uint64_t raw)
{
    file->holders++;
    file->live += raw;
}

void
file_release(struct store *store, uint32_t number, uint64_t raw)
{
    struct map_entry *entry = map_find(&store->depots->files, map_key_number(number));
    struct spill_file *file = entry->value.pointer;
    struct depot *depot = depot_of(store, file);

    file->live -= raw;
    if (raw > 0) {
        store->depots->thinned = true;
    }
    file->holders--;
    if (file->holders == 0) {
        depot->bytes -= file->bytes;
        account_take(&store->account, account_part(file->depot), file->bytes);
        map_remove(&store->depots->files, entry);
        remove_file(file->session, depot, number, (file->flags & LEVEL_FILE_PERSISTENT) != 0);
        free(file);
    }
}

void
files_forget(struct store *store)
{
    struct map_entry *entry;
    size_t position = 0;

    while ((entry = map_next(&store->depots->files, &position)) != NULL) {
        free(entry->value.pointer);
    }
    map_free(&store->depots->files);
}
