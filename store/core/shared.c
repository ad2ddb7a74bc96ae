/* Files that clients share: made on demand, adopted from the store before, closed with the session. */
#include "store/core/shared.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "contract/mutable.h"
#include "store/base/shmfile.h"

/* One row a kind: the file has `head` bytes and then `most` pages at most. */
static const struct shared_kind {
    enum gr_map_kind kind;
    const char *file;
    uint64_t magic;
    uint64_t head;
    uint64_t page;
    uint32_t most;
} kinds[SESSION_SHARED] = {
    {GR_MAP_COUNTERS, "counters", GR_COUNTERS_MAGIC, sizeof(struct gr_counters), 0, 0},
    {GR_MAP_MUTABLES, "mutables", GR_MUTABLES_MAGIC, sizeof(struct gr_mutables), sizeof(struct gr_mutable),
     GR_MUTABLES_MOST},
};

static const struct shared_kind *
shared_kind(const struct gr_map *map)
{
    for (size_t i = 0; i < SESSION_SHARED; i++) {
        if (map->kind == (uint32_t)kinds[i].kind) {
            return &kinds[i];
        }
    }
    return NULL;
}

bool
shared_is(const struct gr_map *map)
{
    return shared_kind(map) != NULL;
}

static uint64_t *
bytes_of(struct session *session, const struct shared_kind *kind)
{
    return &session->shared_bytes[kind - kinds];
}

static void
name_of(const struct session *session, const struct shared_kind *kind, char ret_name[96])
{
    shmfile_name(ret_name, session->store->instance.shm_prefix, session->number, kind->file, SHMFILE_NO_NUMBER);
}

/* For who looks at the file from outside: magic, version, session, as all of them begin. Written and not mapped, because
 * a client that cuts the file short would make a store that touches it die. What is missing the next store writes. */
static granary_err
write_head(int fd, const char *name, const struct shared_kind *kind, const struct session *session)
{
    const uint32_t version_session[2] = {session->store->root.shm->version, session->number};

    FAULT_STEP(shared_before_head);
    if (pwrite(fd, version_session, sizeof version_session, sizeof kind->magic) < 0 ||
        pwrite(fd, &kind->magic, sizeof kind->magic, 0) < 0) {
        return gr_fail_errno("shared memory %s", name);
    }
    return GRANARY_OK;
}

static void
count_in(struct session *session, const struct shared_kind *kind, uint64_t bytes)
{
    uint64_t *ours = bytes_of(session, kind);

    account_add(&session->store->account, GR_ACCOUNT_INDEX, bytes - *ours);
    *ours = bytes;
}

/* All of the file's pages, so that touching them is never a SIGBUS; a new file gets its head. */
static granary_err
shared_fill(struct session *session, const struct shared_kind *kind, const char *name, int fd, uint64_t bytes)
{
    if (FAULT_FAILS(shm_pages) || gr_fd_allocate(fd, 0, bytes) < 0) {
        return gr_fail_errno("shared memory %s: %llu bytes", name, (unsigned long long)bytes);
    }
    return *bytes_of(session, kind) > 0 ? GRANARY_OK : write_head(fd, name, kind, session);
}

granary_err
shared_open(struct session *session, const struct gr_map *map)
{
    const struct shared_kind *kind = shared_kind(map);
    const uint64_t bytes = kind->head + kind->page * map->number;
    const bool is_new = *bytes_of(session, kind) == 0;
    granary_err err = GRANARY_OK;
    char name[96];
    int fd;

    if (map->number > kind->most) {
        return gr_fail(GRANARY_ENOENT, "%s %u: there are at most %u", kind->file, map->number, kind->most);
    }
    if (bytes <= *bytes_of(session, kind)) {
        return GRANARY_OK;
    }
    name_of(session, kind, name);
    if (is_new) {
        err = shmfile_create(name, bytes, &fd);
    } else if ((fd = gr_shm_open(name, O_RDWR | O_NONBLOCK)) < 0) {
        err = gr_fail_errno("shared memory %s", name);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = shared_fill(session, kind, name, fd, bytes);
    gr_fd_close(&fd);
    if (err == GRANARY_OK) {
        count_in(session, kind, bytes);
    } else if (is_new) {
        (void)shm_unlink(name);
    }
    return err;
}

/* Whole pages: the last store may have died while it made them. */
static uint64_t
adopted_bytes(const struct shared_kind *kind, uint64_t size)
{
    uint64_t pages = size < kind->head || kind->page == 0 ? 0 : (size - kind->head) / kind->page;

    return kind->head + kind->page * (pages < kind->most ? pages : kind->most);
}

static granary_err
kind_adopt(struct session *session, const struct shared_kind *kind)
{
    char name[96];
    struct stat file;
    granary_err err;
    int fd;

    name_of(session, kind, name);
    fd = gr_shm_open(name, O_RDWR | O_NONBLOCK);
    if (fd < 0) {
        return gr_shm_is_missing() ? GRANARY_OK : gr_fail_errno("shared memory %s", name);
    }
    if (fstat(fd, &file) == 0 && (uint64_t)file.st_size < kind->head) { /* none that was ever counted in */
        gr_fd_close(&fd);
        (void)shm_unlink(name);
        return GRANARY_OK;
    }
    err = shared_fill(session, kind, name, fd, adopted_bytes(kind, (uint64_t)file.st_size));
    gr_fd_close(&fd);
    if (err == GRANARY_OK) {
        count_in(session, kind, adopted_bytes(kind, (uint64_t)file.st_size));
    }
    return err;
}

granary_err
shared_adopt(struct session *session)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < SESSION_SHARED && err == GRANARY_OK; i++) {
        err = kind_adopt(session, &kinds[i]);
    }
    return err;
}

uint64_t
shared_bytes(const struct session *session, const struct gr_map *map)
{
    return session->shared_bytes[shared_kind(map) - kinds];
}

int
shared_descriptor(const struct session *session, const struct gr_map *map, granary_err *ret_err)
{
    char name[96];
    int fd;

    name_of(session, shared_kind(map), name);
    fd = gr_shm_open(name, O_RDWR | O_NONBLOCK);
    if (fd < 0) {
        *ret_err = gr_fail_errno("shared memory %s", name);
    }
    return fd;
}

void
shared_close(struct session *session)
{
    for (size_t i = 0; i < SESSION_SHARED; i++) {
        char name[96];

        if (session->shared_bytes[i] > 0) {
            name_of(session, &kinds[i], name);
            (void)shm_unlink(name);
            account_take(&session->store->account, GR_ACCOUNT_INDEX, session->shared_bytes[i]);
            session->shared_bytes[i] = 0;
        }
    }
}
