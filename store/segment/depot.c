/* Depots: what each file is needed for is counted, and the last one lets a worker remove it. */
#include "store/segment/depot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "contract/executor_page.h"
#include "store/core/core.h"

#define RETRY_NS      1000000000ll
#define RETRY_DOUBLED 6 /* times, while others can be written */
#define SAID_NS       60000000000
#define SPEED_HOPED   1000000000 /* bytes a second, of one that is not known yet: it gets files, and is known soon */

static const struct level_ops *const depot_ops[DEPOTS] = {[DEPOT_DISK] = &level_disk, [DEPOT_REMOTE] = &level_remote};

/* ---- which there are ---- */

/* Where the last store's files lie; "" when there is nothing: a name that was damaged makes no directory. */
static const char *
left_in(const struct root *root, const char dir[sizeof root->shm->spill_dir])
{
    if (root->fresh || memchr(dir, '\0', sizeof root->shm->spill_dir) == NULL) {
        return "";
    }
    return access(dir, F_OK) < 0 && errno == ENOENT ? "" : dir;
}

/* What the options call DIR is, of this instance's own, so that two instances never meet in one. NULL: its default. */
static granary_err
own_directory(const struct store *store, const char *dir, char ret_path[sizeof((struct gr_root *)0)->spill_dir])
{
    const size_t room = sizeof((struct gr_root *)0)->spill_dir;
    const char *own = store->instance.spill_default;
    int length = dir == NULL ? snprintf(ret_path, room, "%s", own)
                             : snprintf(ret_path, room, "%s/%s", dir, strrchr(own, '/') + 1);

    return length < (int)room ? GRANARY_OK : gr_fail(GRANARY_EINVAL, "directory %s: path too long", dir);
}

/* Make it ready. `place` is the path's, in the root. */
static granary_err
depot_open(struct store *store, unsigned place, const char *path, uint64_t quota)
{
    struct depot *depot = &store->depots->of[place];
    granary_err err;

    if (depot->place->path != path) {
        (void)snprintf(depot->place->path, sizeof depot->place->path, "%s", path);
    }
    depot->place->quota = quota;
    atomic_store(&depot->place->bytes, 0);
    atomic_store(&depot->place->speed, 0);
    atomic_store(&depot->place->failures, 0);
    atomic_store(&depot->place->failed, GRANARY_OK);
    err = depot_ops[depot->name]->open(&(struct level_options){.dir = depot->place->path}, &depot->self);
    if (err == GRANARY_OK) {
        depot->ops = depot_ops[depot->name];
        if (store->root.fresh) {
            depot->ops->clear(depot->self);
        }
    }
    return err;
}

/* Which of the places before is the same directory, if under another name; `place`: none. */
static unsigned
same_directory(const struct store *store, unsigned place)
{
    const struct gr_spill_place *places = store->root.shm->places;
    struct stat mine, other;

    for (unsigned i = 0; i < place && stat(places[place].path, &mine) == 0; i++) {
        if (stat(places[i].path, &other) == 0 && other.st_dev == mine.st_dev && other.st_ino == mine.st_ino) {
            return i;
        }
    }
    return place;
}

/* A new instance's: all that are given must be there, and none twice. */
static granary_err
disks_begin(struct store *store, const struct store_options *options)
{
    const struct store_place fallback = {.dir = NULL};
    const struct store_place *given = options->spill_count == 0 ? &fallback : options->spill;
    unsigned count = options->spill_count == 0 ? 1 : options->spill_count;
    char path[sizeof((struct gr_root *)0)->spill_dir];
    granary_err err = GRANARY_OK;

    for (unsigned i = 0; i < GR_SPILL_DIRS; i++) { /* those of a store before are gone */
        store->root.shm->places[i].path[0] = '\0';
    }
    for (unsigned i = 0; i < count && err == GRANARY_OK; i++) {
        err = own_directory(store, given[i].dir, path);
        err = err == GRANARY_OK ? depot_open(store, i, path, given[i].quota) : err;
        if (err == GRANARY_OK && same_directory(store, i) != i) {
            err = gr_fail(GRANARY_EINVAL, "--spill-dir %s: it is the same directory as %s", given[i].dir,
                          given[same_directory(store, i)].dir);
        }
    }
    return err;
}

/* The options' limit of a place that the store before had. What has none in them keeps its own. */
static uint64_t
quota_of(const struct store *store, const struct store_options *options, const struct gr_spill_place *place)
{
    char path[sizeof place->path];

    for (unsigned i = 0; i < options->spill_count; i++) {
        if (own_directory(store, options->spill[i].dir, path) == GRANARY_OK && strcmp(path, place->path) == 0) {
            return options->spill[i].quota;
        }
    }
    return place->quota;
}

static bool
is_kept(const struct store *store, const char *path)
{
    for (unsigned i = 0; i < GR_SPILL_DIRS; i++) {
        if (strcmp(store->root.shm->places[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* Those of the store before, and no other. One that is gone is left alone: who was in it is told, and the others serve. */
static granary_err
disks_adopt(struct store *store, const struct store_options *options)
{
    struct gr_root *root = store->root.shm;
    char path[sizeof root->spill_dir];
    granary_err err = GRANARY_OK;
    bool any = false;

    for (unsigned i = 0; i < GR_SPILL_DIRS && err != GRANARY_ENOMEM; i++) {
        struct gr_spill_place *place = &root->places[i];

        if (memchr(place->path, '\0', sizeof place->path) == NULL || place->path[0] != '/') {
            place->path[0] = '\0';
            continue;
        }
        err = depot_open(store, i, place->path, quota_of(store, options, place));
        if (err != GRANARY_OK) {
            gr_log_error("SPILL-DIRECTORY-LOST", "dir=%s why=%s", place->path, granary_error_message());
            depot_blame(&store->depots->of[i], err);
        }
        any = any || err == GRANARY_OK;
    }
    for (unsigned i = 0; i < options->spill_count; i++) {
        if (own_directory(store, options->spill[i].dir, path) == GRANARY_OK && !is_kept(store, path)) {
            gr_log_warn("DIRECTORY-KEPT", "objects of this instance lie in %s: it is used, not %s", root->spill_dir,
                        path);
        }
    }
    return any && err != GRANARY_ENOMEM ? GRANARY_OK : err;
}

/* Whether the store before had files somewhere. */
static bool
disks_left(const struct store *store)
{
    struct gr_root *root = store->root.shm;

    if (root->places[0].path[0] == '\0') { /* of an earlier release, which told of one only */
        memcpy(root->places[0].path, root->spill_dir, sizeof root->spill_dir);
    }
    for (unsigned i = 0; i < GR_SPILL_DIRS; i++) {
        if (left_in(&store->root, root->places[i].path)[0] != '\0') {
            return true;
        }
    }
    return false;
}

static granary_err
remote_open(struct store *store, const struct store_options *options, const char *left)
{
    char path[sizeof((struct gr_root *)0)->remote_dir];
    granary_err err = own_directory(store, options->remote_dir, path);

    if (err == GRANARY_OK && left[0] != '\0' && strcmp(left, path) != 0) {
        gr_log_warn("DIRECTORY-KEPT", "objects of this instance lie in %s: it is used, not %s", left, path);
        (void)snprintf(path, sizeof path, "%s", left);
    }
    return err == GRANARY_OK ? depot_open(store, GR_SPILL_DIRS, path, options->remote_quota_bytes) : err;
}

granary_err
depots_open(struct store *store, const struct store_options *options)
{
    struct level_capacity room;
    struct gr_root *root = store->root.shm;
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
    for (unsigned i = 0; i < DEPOT_PLACES; i++) {
        store->depots->of[i] =
            (struct depot){.name = i < GR_SPILL_DIRS ? DEPOT_DISK : DEPOT_REMOTE, .place = &root->places[i]};
    }
    store->depots->disk_quota = options->disk_quota_bytes;
    root->places[GR_SPILL_DIRS].path[0] = '\0';
    /* Where there are objects already is a level, whatever this store was told. */
    if (disks_left(store)) {
        err = disks_adopt(store, options);
    } else if ((levels & GRANARY_LEVEL_DISK) != 0) {
        err = disks_begin(store, options);
    }
    if (err == GRANARY_OK && ((levels & GRANARY_LEVEL_REMOTE) != 0 || left_remote[0] != '\0')) {
        err = remote_open(store, options, left_remote);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "--remote-dir");
    }
    return err;
}

/* What user code printed goes with the instance. */
static void
remove_logs(const struct depot *depot)
{
    char path[sizeof depot->place->path + sizeof GR_LOGS];

    (void)snprintf(path, sizeof path, "%s/" GR_LOGS, depot->place->path);
    gr_remove_tree(path);
}

void
depots_close(struct store *store)
{
    for (unsigned i = 0; i < DEPOT_PLACES; i++) {
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

/* ---- which takes a file ---- */

bool
depot_there(const struct store *store, enum depot_name name)
{
    for (unsigned i = 0; i < DEPOT_PLACES; i++) {
        if (store->depots->of[i].name == name && store->depots->of[i].ops != NULL) {
            return true;
        }
    }
    return false;
}

unsigned
depot_bit(const struct store *store, const struct depot *depot)
{
    return 1u << (depot - store->depots->of);
}

/*
 * Each gets its share as in a queue that is fair by weight: its turn is the time its files would have taken at its speed,
 * and who has had least is next. It does not count what was given to others while it failed, see depot_charge().
 */
struct depot *
depot_choose(struct store *store, enum depot_name name, uint64_t bytes, unsigned without, int64_t now_ns)
{
    struct depot *best = NULL;
    int best_rank = 0;

    for (unsigned i = 0; i < DEPOT_PLACES; i++) {
        struct depot *depot = &store->depots->of[i];
        int rank;

        if (depot->ops == NULL || depot->name != name || (without & depot_bit(store, depot)) != 0) {
            continue;
        }
        rank = 2 * (now_ns >= depot->retry_ns) + (depot_allowance(store, depot) >= bytes);
        if (best == NULL || rank > best_rank || (rank == best_rank && depot->turn < best->turn)) {
            best = depot;
            best_rank = rank;
        }
    }
    return best;
}

struct depot *
depot_to_spill(struct store *store, uint64_t bytes, int64_t now_ns)
{
    for (int name = 0; name < DEPOTS; name++) {
        struct depot *depot = depot_choose(store, (enum depot_name)name, bytes, 0, now_ns);

        if (depot != NULL && now_ns >= depot->retry_ns) {
            return depot;
        }
    }
    return NULL;
}

void
depot_charge(struct store *store, struct depot *depot, uint64_t bytes)
{
    struct depots *depots = store->depots;
    uint64_t speed = depot->ops->speed(depot->self);

    depot->turn = depot->turn > depots->turn ? depot->turn : depots->turn;
    depots->turn = depot->turn;
    depot->turn += (double)bytes / (double)(speed == 0 ? SPEED_HOPED : speed);
}

void
depot_worked(struct depot *depot)
{
    depot->row = 0;
    depot->said_ns = 0;
    atomic_store(&depot->place->speed, depot->ops->speed(depot->self));
    atomic_store(&depot->place->failed, GRANARY_OK);
}

void
depot_blame(struct depot *depot, granary_err err)
{
    depot->row++;
    (void)atomic_fetch_add(&depot->place->failures, 1);
    atomic_store(&depot->place->failed, err);
}

/* Those who wait for room are told why only when no other directory can help; then all are tried again soon. */
void
depot_failed(struct store *store, struct depot *depot, granary_err err, int64_t now_ns)
{
    depot->retry_ns = now_ns + (RETRY_NS << (depot->row < RETRY_DOUBLED ? depot->row : RETRY_DOUBLED));
    depot_blame(depot, err);
    if (depot_to_spill(store, 0, now_ns) != NULL) {
        return;
    }
    for (unsigned i = 0; i < DEPOT_PLACES; i++) {
        struct depot *other = &store->depots->of[i];

        other->retry_ns = other->retry_ns > now_ns + RETRY_NS ? now_ns + RETRY_NS : other->retry_ns;
    }
    (void)snprintf(store->depots->error, sizeof store->depots->error, "%s", granary_error_message());
    store->depots->retry_ns = depot->retry_ns;
}

void
depot_log_failure(struct depot *depot, uint32_t file, granary_err err, const char *why, int64_t now_ns)
{
    depot->unsaid++;
    if (depot->said_ns != 0 && depot->said == err && now_ns - depot->said_ns < SAID_NS) {
        return;
    }
    gr_log_warn("SPILL-FAILED", "dir=%s file=%u times=%llu why=%s", depot->place->path, file,
                (unsigned long long)depot->unsaid, why);
    depot->said_ns = now_ns;
    depot->said = err;
    depot->unsaid = 0;
}

static uint64_t
left_of(uint64_t quota, uint64_t bytes)
{
    return quota == 0 ? UINT64_MAX : bytes < quota ? quota - bytes : 0;
}

uint64_t
depot_allowance(const struct store *store, const struct depot *depot)
{
    uint64_t left = left_of(depot->place->quota, atomic_load(&depot->place->bytes));
    uint64_t all;

    if (depot->name != DEPOT_DISK) {
        return left;
    }
    all = left_of(store->depots->disk_quota, store->account.bytes[GR_ACCOUNT_DISK]);
    return left < all ? left : all;
}

uint64_t
depot_flag(const struct spill_file *file)
{
    return file->depot->name == DEPOT_DISK ? GR_FLAG_ON_DISK : GR_FLAG_REMOTE;
}

/* ---- files ---- */

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
    if (depot->ops != NULL) { /* else its directory is lost */
        depot->ops->remove(depot->self, number);
    }
    if (persistent) {
        atomic_store(&depot->unsettled, true);
    }
    if (atomic_fetch_sub(&depot->removals, 1) == 1 && atomic_exchange(&depot->unsettled, false) && depot->ops != NULL) {
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
account_part(const struct depot *depot)
{
    return depot->name == DEPOT_DISK ? GR_ACCOUNT_DISK : GR_ACCOUNT_REMOTE;
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
        .depot = depot,
        .session = session,
        .flags = made->flags,
        .holders = 1,
        .bytes = bytes,
    };
    entry->value.pointer = file;
    (void)atomic_fetch_add(&depot->place->bytes, bytes);
    account_add(&store->account, account_part(depot), bytes);
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
    struct depot *depot = file->depot;

    file->live -= raw;
    if (raw > 0) {
        store->depots->thinned = true;
    }
    file->holders--;
    if (file->holders == 0) {
        (void)atomic_fetch_sub(&depot->place->bytes, file->bytes);
        account_take(&store->account, account_part(depot), file->bytes);
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
