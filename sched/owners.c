/* An array, as there are as many owners as client programs: tens. */
#include "sched/owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory/grow.h"
#include "sched/manager/manager.h"

struct owner {
    int64_t pid;
    uint64_t start_time;
    int pidfd;
};

struct owners {
    struct manager *manager;
    struct owner *items;
    size_t count, room;
    int64_t now_ns; /* during owners_restore() */
};

struct owners *
owners_create(struct manager *manager)
{
    struct owners *owners = calloc(1, sizeof *owners);

    if (owners != NULL) {
        owners->manager = manager;
    }
    return owners;
}

void
owners_destroy(struct owners *owners)
{
    if (owners != NULL) {
        for (size_t i = 0; i < owners->count; i++) {
            gr_fd_close(&owners->items[i].pidfd);
        }
        free(owners->items);
        free(owners);
    }
}

static bool
is_known(const struct owners *owners, int64_t pid, uint64_t start_time)
{
    for (size_t i = 0; i < owners->count; i++) {
        if (owners->items[i].pid == pid && owners->items[i].start_time == start_time) {
            return true;
        }
    }
    return false;
}

/* 0, or errno: ESRCH when it has ended. */
static int
watch(struct owners *owners, int64_t pid, uint64_t start_time)
{
    int pidfd;

    if (is_known(owners, pid, start_time)) {
        return 0;
    }
    if (!gr_grow(&owners->items, &owners->room, owners->count, sizeof *owners->items)) {
        return ENOMEM;
    }
    pidfd = gr_process_open((pid_t)pid, start_time);
    if (pidfd < 0) {
        return errno;
    }
    owners->items[owners->count++] = (struct owner){.pid = pid, .start_time = start_time, .pidfd = pidfd};
    return 0;
}

/* When a process that is watched and lives has started; 0: it is none of them, and its number may be another's by now. */
static uint64_t
start_time_of(const struct owners *owners, int64_t pid)
{
    for (size_t i = 0; i < owners->count; i++) {
        if (owners->items[i].pid == pid && !gr_pidfd_ended(owners->items[i].pidfd)) {
            return owners->items[i].start_time;
        }
    }
    return 0;
}

bool
owners_sign(struct owners *owners, int64_t pid, Granary__Submit *submit)
{
    uint64_t start_time = submit->owned ? start_time_of(owners, pid) : 0;
    int error = start_time != 0 ? 0 : EINVAL; /* the kernel tells no process */

    submit->owner_pid = 0;
    submit->owner_start = 0;
    if (!submit->owned) {
        return true;
    }
    if (start_time == 0 && pid > 0 && pid <= INT32_MAX) {
        start_time = gr_process_start_time((pid_t)pid);
        error = start_time == 0 ? errno : watch(owners, pid, start_time);
    }
    if (error == 0) {
        submit->owner_pid = pid;
        submit->owner_start = start_time;
    } else if (error != ESRCH && error != ENOENT) {
        gr_log_warn("OWNER", "pid=%lld graph=%.80s cannot be watched, so the graph stays when it ends: %s",
                    (long long)pid, submit->key, strerror(error));
    }
    return error != ESRCH && error != ENOENT;
}

static void
expect(void *context, int64_t pid, uint64_t start_time)
{
    struct owners *owners = context;
    int error = pid > 0 && pid <= INT32_MAX ? watch(owners, pid, start_time) : ESRCH;

    if (error == ESRCH) {
        manager_owner_ended(owners->manager, pid, start_time, owners->now_ns);
    } else if (error != 0) {
        gr_log_warn("OWNER", "pid=%lld cannot be watched, so its graphs stay when it ends: %s", (long long)pid,
                    strerror(error));
    }
}

void
owners_restore(struct owners *owners, int64_t now_ns)
{
    owners->now_ns = now_ns;
    manager_owners(owners->manager, expect, owners);
}

size_t
owners_fds(const struct owners *owners, int *fds, size_t room)
{
    for (size_t i = 0; i < owners->count && i < room; i++) {
        fds[i] = owners->items[i].pidfd;
    }
    return owners->count;
}

void
owners_process_ended(struct owners *owners, int pidfd, int64_t now_ns)
{
    for (size_t i = 0; i < owners->count; i++) {
        struct owner *owner = &owners->items[i];

        /* Since it was waited for, the descriptor may have been closed, and be another process's. */
        if (owner->pidfd == pidfd && gr_pidfd_ended(pidfd)) {
            const struct owner ended = *owner;

            gr_fd_close(&owner->pidfd);
            *owner = owners->items[--owners->count];
            manager_owner_ended(owners->manager, ended.pid, ended.start_time, now_ns);
            return;
        }
    }
}
