/* Admission by SO_PEERCRED: the peer's user and groups beside those the instance lets in. */
#include "store/core/admit.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

#define GROUPS_MOST 1024u

granary_err
admit_group(const char *name, gid_t *ret_gid)
{
    const struct group *group = getgrnam(name);
    unsigned long number;
    char *end;

    if (group != NULL) {
        *ret_gid = group->gr_gid;
        return GRANARY_OK;
    }
    errno = 0;
    number = strtoul(name, &end, 10);
    if (name[0] < '0' || name[0] > '9' || *end != '\0' || errno != 0 || number >= STORE_NO_GROUP) {
        return gr_fail(GRANARY_EINVAL, "group '%.64s': there is no such group", name);
    }
    *ret_gid = (gid_t)number;
    return GRANARY_OK;
}

granary_err
admit_open(const struct store *store)
{
    const char *runtime = store->instance.runtime;
    const char *path = store->instance.store_socket;

    if (store->clients.group == STORE_NO_GROUP) {
        return GRANARY_OK;
    }
    if (chown(runtime, (uid_t)-1, store->clients.group) < 0 || chmod(runtime, 0710) < 0) {
        return gr_fail_errno("instance %s: let group %u in", runtime, (unsigned)store->clients.group);
    }
    if (chown(path, (uid_t)-1, store->clients.group) < 0 || chmod(path, 0660) < 0) {
        return gr_fail_errno("socket %s: let group %u in", path, (unsigned)store->clients.group);
    }
    return GRANARY_OK;
}

static bool
is_member(int fd, const struct ucred *peer, gid_t group)
{
    gid_t groups[GROUPS_MOST];
    socklen_t size = sizeof groups;

    if (peer->gid == group) {
        return true;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0) {
        return false;
    }
    for (size_t i = 0; i < size / sizeof groups[0]; i++) {
        if (groups[i] == group) {
            return true;
        }
    }
    return false;
}

/* The store's own user is not asked: in user mode there is nobody else. */
static bool
is_rationed(const struct store *store, uid_t user)
{
    return store->clients.group != STORE_NO_GROUP && user != geteuid();
}

granary_err
admit_client(const struct store *store, uid_t user)
{
    unsigned own = 0;

    if (!is_rationed(store, user)) {
        return GRANARY_OK;
    }
    list_each (const struct client, client, &store->clients.all, in_store) {
        own += client->uid == user;
    }
    return own < store->clients.most - store->clients.count
               ? GRANARY_OK
               : gr_fail(GRANARY_EFULL, "uid %u has %u clients already, and must leave as many to others",
                         (unsigned)user, own);
}

granary_err
admit_session(const struct store *store, uid_t user)
{
    unsigned own = 0;

    if (!is_rationed(store, user)) {
        return GRANARY_OK;
    }
    list_each (const struct session, session, &store->sessions.all, in_store) {
        own += (uid_t)atomic_load_explicit(&session->control->uid, memory_order_relaxed) == user;
    }
    return own < store->sessions.most - store->sessions.count
               ? GRANARY_OK
               : gr_fail(GRANARY_EFULL, "uid %u has %u sessions already, and must leave as many to others",
                         (unsigned)user, own);
}

static unsigned
segments_left(const struct store *store)
{
    return store->segments.by_number.count < store->segments.most
               ? store->segments.most - (unsigned)store->segments.by_number.count
               : 0;
}

granary_err
admit_segment(const struct session *session)
{
    const struct store *store = session->store;
    uint32_t user = (uint32_t)atomic_load_explicit(&session->control->uid, memory_order_relaxed);
    unsigned own = 0;

    if (session->segment_count >= 3 * (uint64_t)segments_left(store)) {
        return gr_fail(GRANARY_EFULL,
                       "session '%s' has %u of the store's %u segments of memory, and must leave some to others: seal, "
                       "release, unpin or delete objects, or start the store with more descriptors (ulimit -n)",
                       session->name, session->segment_count, store->segments.most);
    }
    if (!is_rationed(store, (uid_t)user)) {
        return GRANARY_OK;
    }
    list_each (const struct session, other, &store->sessions.all, in_store) {
        own += atomic_load_explicit(&other->control->uid, memory_order_relaxed) == user ? other->segment_count : 0;
    }
    return own < segments_left(store)
               ? GRANARY_OK
               : gr_fail(GRANARY_EFULL,
                         "uid %u has %u of the store's %u segments of memory, and must leave as many to others",
                         (unsigned)user, own, store->segments.most);
}

granary_err
admit_room(const struct client *client)
{
    return 2 * (uint64_t)client->rooms < segments_left(client->store)
               ? GRANARY_OK
               : gr_fail(GRANARY_EFULL,
                         "this process has %u unsealed objects in segments of their own, and must leave some to "
                         "others: seal or abort some",
                         client->rooms);
}

bool
admit_growth(const struct session *session)
{
    const struct store *store = session->store;
    uint32_t user = atomic_load_explicit(&session->control->uid, memory_order_relaxed);
    uint64_t own = 0;
    uint64_t all = 0;

    if (!is_rationed(store, (uid_t)user)) {
        return true;
    }
    list_each (const struct session, other, &store->sessions.all, in_store) {
        all += other->index_seen;
        own += atomic_load_explicit(&other->control->uid, memory_order_relaxed) == user ? other->index_seen : 0;
    }
    return all + own < store->account.bytes[GR_ACCOUNT_CAPACITY];
}

granary_err
admit_peer(const struct store *store, int fd, struct ucred *ret_peer)
{
    socklen_t size = sizeof *ret_peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_peer, &size) < 0) {
        return gr_fail_errno("who connects");
    }
    if (ret_peer->uid == geteuid() ||
        (store->clients.group != STORE_NO_GROUP && is_member(fd, ret_peer, store->clients.group))) {
        return GRANARY_OK;
    }
    if (store->clients.group == STORE_NO_GROUP) {
        return gr_fail(GRANARY_EPERM, "this store serves uid %u only, not uid %u: run this as that user",
                       (unsigned)geteuid(), (unsigned)ret_peer->uid);
    }
    return gr_fail(GRANARY_EPERM, "this store serves uid %u and group %u only, not uid %u: join that group",
                   (unsigned)geteuid(), (unsigned)store->clients.group, (unsigned)ret_peer->uid);
}
