/* The store's life: it takes the instance over, opens its doors, and leaves nothing behind. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process/daemon.h"
#include "base/process/limits.h"
#include "base/process/stacks.h"
#include "store/adopt/adopt.h"
#include "store/adopt/revive.h"
#include "store/base/lease_region.h"
#include "store/client/client.h"
#include "store/client/doze.h"
#include "store/client/teardown.h"
#include "store/core/admit.h"
#include "store/core/core.h"
#include "store/core/events.h"
#include "store/flow/compact.h"
#include "store/flow/move.h"
#include "store/flow/queue.h"
#include "store/flow/read/restore.h"
#include "store/flow/reclaim.h"
#include "store/flow/supply.h"
#include "store/object/hold.h"
#include "store/object/object.h"
#include "store/object/session.h"
#include "store/segment/depot.h"
#include "store/segment/giveback.h"
#include "store/segment/segment.h"
#include "store/segment/victim.h"
#include "store/store.h"
#include "wire/frame.h"

#define LEAST_MEMORY    ((uint64_t)1 << 20)
#define FDS_PER_SESSION 2u /* index, ledger */
#define FDS_PER_CLIENT  5u /* socket, pidfd, doorbell, and segments of its own */
#define FDS_TALKING     3u /* ... of that without the segments */
#define FDS_OTHERWISE   64u

static void
lock_path(const struct store *store, char ret_path[160])
{
    (void)snprintf(ret_path, 160, "%s/store.lock", store->instance.runtime);
}

static granary_err
take_lock(struct store *store)
{
    char path[160];
    granary_err err;

    lock_path(store, path);
    err = gr_daemon_lock(path, true, &store->doors.lock_fd, NULL);
    return err == GRANARY_EBUSY ? gr_fail(GRANARY_EEXIST, "instance %s: another store serves it (it holds %s)",
                                          store->instance.runtime, path)
                                : err;
}

static void
give_lock_back(struct store *store)
{
    char path[160];

    if (store->doors.lock_fd >= 0) {
        lock_path(store, path);
        (void)unlink(path);
        gr_stacks_remove(store->instance.runtime);
        (void)rmdir(store->instance.runtime); /* stays while anything of others is in it */
    }
    gr_fd_close(&store->doors.lock_fd);
}

/* What exists is adopted whatever others have taken of /dev/shm: a store that runs lives with that, too. */
static granary_err
check_memory(uint64_t memory, uint64_t there, bool adopts)
{
    struct statvfs shm;
    uint64_t available;

    if (memory < LEAST_MEMORY) {
        return gr_fail(GRANARY_EINVAL, "--memory %llu: at least 1M", (unsigned long long)memory);
    }
    if (statvfs("/dev/shm", &shm) < 0) {
        return gr_fail_errno("/dev/shm");
    }
    available = (uint64_t)shm.f_bavail * shm.f_frsize + there;
    if (memory > available && adopts) {
        gr_log_warn("MEMORY-SHORT", "/dev/shm has room for %llu bytes of the budget of %llu: other files fill it",
                    (unsigned long long)available, (unsigned long long)memory);
    } else if (memory > available) {
        return gr_fail(GRANARY_EFULL,
                       "a memory budget of %llu bytes does not fit /dev/shm, which has %llu bytes free: give a smaller "
                       "--memory, or make it larger (mount -o remount,size=%lluM /dev/shm)",
                       (unsigned long long)memory, (unsigned long long)available,
                       (unsigned long long)((memory >> 20) + (memory >> 22) + 64));
    }
    return GRANARY_OK;
}

/* Files, sessions and clients need descriptors; as many of them as those allow. */
static void
raise_limits(struct store *store)
{
    size_t most = gr_daemon_raise_files();
    size_t of_sessions = most / 4;
    size_t of_clients = most - of_sessions;
    size_t kept, of_segments;

    store->clients.most = GR_MAX_CLIENTS;
    if (of_clients / FDS_PER_CLIENT < store->clients.most) {
        store->clients.most = most < 64 ? 8 : (unsigned)(of_clients / FDS_PER_CLIENT);
    }
    store->sessions.most = STORE_MAX_SESSIONS;
    if (of_sessions / FDS_PER_SESSION < store->sessions.most) {
        store->sessions.most = most < 64 ? 8 : (unsigned)(of_sessions / FDS_PER_SESSION);
    }
    kept = (size_t)FDS_TALKING * store->clients.most + (size_t)FDS_PER_SESSION * store->sessions.most + FDS_OTHERWISE;
    of_segments = most > 2 * kept ? most - kept : most / 2;
    store->segments.most = of_segments < GR_MAX_SEGMENTS ? (unsigned)of_segments : GR_MAX_SEGMENTS;
}

static granary_err
open_doors(struct store *store)
{
    granary_err err;

    store->doors.listen = (struct source){SOURCE_LISTEN, store};
    store->doors.stop = (struct source){SOURCE_STOP, store};
    store->doors.worker = (struct source){SOURCE_WORKER, store};
    store->doors.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    store->doors.spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (store->doors.epoll_fd < 0 || store->doors.spare_fd < 0) {
        return gr_fail_errno("the store's descriptors");
    }
    err = workers_start(&store->workers);
    if (err != GRANARY_OK) {
        return err;
    }
    if (source_watch(store, workers_fd(store->workers), &store->doors.worker, EPOLLIN) < 0 ||
        source_watch(store, store->doors.stop_fd, &store->doors.stop, EPOLLIN) < 0) {
        return gr_fail_errno("watch the store's descriptors");
    }
    return GRANARY_OK;
}

static granary_err
listen_for_clients(struct store *store)
{
    granary_err err = GRANARY_OK;

    if (store->doors.lent) {
        (void)fcntl(store->doors.listen_fd, F_SETFD, FD_CLOEXEC);
        (void)fcntl(store->doors.listen_fd, F_SETFL, O_NONBLOCK);
    } else {
        store->doors.listen_fd = gr_unix_listen(store->instance.store_socket, &err);
    }
    if (store->doors.listen_fd < 0 || (err = admit_open(store)) != GRANARY_OK) {
        return err;
    }
    if (source_watch(store, store->doors.listen_fd, &store->doors.listen, EPOLLIN) < 0) {
        err = gr_fail_errno("watch the store's socket");
    }
    return err;
}

/* The store, and all that it holds. */
struct whole {
    struct store store;
    struct depots depots;
    struct giveback giveback;
    struct objects objects;
    struct holds holds;
    struct queue queue;
    struct restores restores;
    struct reclaim reclaim;
    struct supply supply;
    struct compact compact;
    struct moves moves;
    struct doze doze;
};

static void
wire(struct whole *whole)
{
    struct store *store = &whole->store;

    store->depots = &whole->depots;
    store->giveback = &whole->giveback;
    store->objects = &whole->objects;
    store->holds = &whole->holds;
    store->queue = &whole->queue;
    store->restores = &whole->restores;
    store->reclaim = &whole->reclaim;
    store->supply = &whole->supply;
    store->compact = &whole->compact;
    store->moves = &whole->moves;
    store->doze = &whole->doze;
    store->clients.drain = ring_drain_once;
    queue_init(store->queue);
    restores_init(store->restores);
    supply_init(store->supply);
    compact_init(store->compact);
    moves_init(store->moves);
    doze_init(store->doze);
}

static struct store *
store_alloc(void)
{
    struct whole *whole = calloc(1, sizeof *whole);
    struct store *store = whole == NULL ? NULL : &whole->store;

    if (store != NULL) {
        store->doors.lock_fd = store->doors.epoll_fd = store->doors.listen_fd = store->doors.spare_fd = -1;
        wire(whole);
        list_init(&store->sessions.all);
        list_init(&store->sessions.dying);
        list_init(&store->sessions.shown);
        list_init(&store->clients.all);
        list_init(&store->clients.strangers);
        list_init(&store->clients.gone);
        list_init(&store->segments.open);
        list_init(&store->segments.closed);
        list_init(&store->segments.idle);
        list_init(&store->segments.torn);
        list_init(&store->segments.offered);
    }
    return store;
}

/* What the root tells of the instance. */
static void
describe(struct store *store)
{
    struct gr_root *root = store->root.shm;

    (void)snprintf(root->spill_dir, sizeof root->spill_dir, "%s", root->places[0].path);
    (void)snprintf(root->remote_dir, sizeof root->remote_dir, "%s", root->places[GR_SPILL_DIRS].path);
    root->capacity = store->account.bytes[GR_ACCOUNT_CAPACITY];
    root->disk_quota = store->depots->disk_quota;
    root->group = store->clients.group;
    root->rung = (uint32_t)store->rung;
}

granary_err
store_create(const struct store_options *options, struct store **ret_store)
{
    struct store *store = store_alloc();
    uint64_t memory = options->memory_bytes;
    char message[512];
    granary_err err;

    if (store == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for the store");
    }
    store->doors.stop_fd = options->stop_fd;
    store->limits.user_bytes = options->user_bytes;
    store->doors.lent = options->listen_fd > 0;
    store->doors.listen_fd = store->doors.lent ? options->listen_fd : -1;
    store->clients.group = STORE_NO_GROUP;
    store->rung = shmfile_climb();
    if (store->rung < SHMFILE_OWN_USER && options->group != NULL) {
        store->rung = SHMFILE_OWN_USER;
    }
    if (options->group != NULL && (err = admit_group(options->group, &store->clients.group)) != GRANARY_OK) {
        goto fail;
    }
    if ((err = gr_instance_resolve(options->instance, &store->instance)) != GRANARY_OK ||
        (err = gr_instance_make(&store->instance)) != GRANARY_OK ||
        /* The path may have links in it that only now can be resolved. */
        (err = gr_instance_resolve(store->instance.runtime, &store->instance)) != GRANARY_OK ||
        (err = take_lock(store)) != GRANARY_OK) {
        goto fail;
    }
    if ((err = root_open(&store->root, &store->instance, options->fresh)) != GRANARY_OK) {
        goto fail;
    }
    if (memory == 0) {
        memory = store->root.fresh ? gr_memory_default() : store->root.shm->capacity;
    }
    if ((err = check_memory(memory, adopt_bytes(&store->instance), !store->root.fresh)) != GRANARY_OK ||
        (err = depots_open(store, options)) != GRANARY_OK) {
        goto fail;
    }
    if ((err = reclaim_init(store->reclaim, options->high_percent, options->low_percent)) != GRANARY_OK) {
        goto fail;
    }
    raise_limits(store);
    account_init(&store->account, memory / 4096 * 4096);
    if ((err = victims_create(&store->victims)) != GRANARY_OK || (err = events_open(store)) != GRANARY_OK ||
        (err = lease_region_create(GR_MAX_CLIENTS, &store->clients.leases)) != GRANARY_OK ||
        (err = open_doors(store)) != GRANARY_OK || (err = adopt(store, memory / 4096 * 4096)) != GRANARY_OK ||
        (store->root.fresh && (err = revive(store)) != GRANARY_OK) || (err = listen_for_clients(store)) != GRANARY_OK) {
        goto fail;
    }
    describe(store);
    store->root.detached = false;
    root_set_state(&store->root, GR_CONTROL_SERVING);
    adopt_announce(store);
    event_note(store, NULL, GR_EVENT_START, NULL, atomic_load(&store->root.shm->epoch), (uint64_t)getpid(), 0);
    gr_log_info("STORE-READY", "instance=%s memory=%llu spill=%s epoch=%llu", store->instance.runtime,
                (unsigned long long)memory, store->root.shm->spill_dir,
                (unsigned long long)atomic_load(&store->root.shm->epoch));
    *ret_store = store;
    return GRANARY_OK;
fail:
    (void)snprintf(message, sizeof message, "%s", granary_error_message());
    store_destroy(store); /* which may fail at other things */
    return gr_fail(err, "%s", message);
}

static void
destroy_state(struct store *store)
{
    list_each (struct client, client, &store->clients.all, in_store) {
        client_drop(client, NULL);
    }
    clients_bury(store);
    reclaim_stop(store);
    workers_stop(store->workers);
    store->workers = NULL;
    (void)teardown_turn(store, 0); /* no worker is busy any more */
    list_each (struct session, session, &store->sessions.all, in_store) {
        session_set_state(session, GR_CONTROL_CLOSED);
        session_destroy_segments(session);
        restore_fini(session);
        session_destroy(session);
    }
    files_forget(store);
    map_free(&store->segments.by_number);
}

/* Forget everything, and leave it as it lies: another store may be luckier with it. */
static void
abandon_state(struct store *store)
{
    struct map_entry *entry;
    size_t position = 0;

    workers_stop(store->workers);
    store->workers = NULL;
    list_each (struct client, client, &store->clients.all, in_store) {
        client_free(client);
    }
    while ((entry = map_next(&store->segments.by_number, &position)) != NULL) {
        struct segment *segment = entry->value.pointer;

        gr_fd_close(&segment->fd);
        free(segment->entries);
        free(segment);
    }
    list_each (struct session, session, &store->sessions.all, in_store) {
        restore_fini(session);
        session_close(session);
    }
    list_each (struct session, session, &store->sessions.dying, in_store) {
        list_remove(&session->in_store); /* it is not counted any more */
        restore_fini(session);
        session_close(session);
    }
    files_forget(store);
    map_free(&store->segments.by_number);
}

/* An orderly end: clients are told, and nothing stays but what is persistent. */
static void
end_state(struct store *store)
{
    event_note(store, NULL, GR_EVENT_STOP, NULL, 0, 0, 0);
    if (store->root.shm != NULL) {
        root_set_state(&store->root, GR_CONTROL_CLOSED);
        FAULT_STEP(root_closed);
    }
    destroy_state(store);
    events_close(store);
}

void
store_destroy(struct store *store)
{
    bool ours;

    if (store == NULL) {
        return;
    }
    store->stopping = true;
    if (store->root.detached) {
        abandon_state(store);
    } else {
        end_state(store);
    }
    if (store->doors.listen_fd >= 0 && !store->doors.lent) {
        (void)unlink(store->instance.store_socket);
    }
    depots_close(store);
    victims_destroy(store->victims);
    lease_region_destroy(store->clients.leases);
    ours = store->doors.lock_fd >= 0 && store->root.shm != NULL && !store->root.detached;
    root_close(&store->root);
    if (ours) {
        (void)gr_instance_sweep_shm(&store->instance); /* what could not be unlinked before */
    }
    gr_fd_close(&store->doors.listen_fd);
    gr_fd_close(&store->doors.spare_fd);
    gr_fd_close(&store->doors.epoll_fd);
    give_lock_back(store);
    free(store);
}

void
store_die(struct store *store)
{
    store->root.detached = true;
}
