/* The root file: what is found there is checked as if a stranger had written it, or all is discarded. */
#include "store/core/root.h"

#include <errno.h>
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
#include "base/log.h"
#include "contract/versions.h"
#include "store/base/shmfile.h"

#define SERIAL_BLOCK  ((uint64_t)1 << 20)
#define STAMP_BLOCK   ((uint64_t)1000 << 20) /* of one second */
#define SEGMENT_STEP  1024u                  /* records that get memory at once: 64 KiB */
#define SEGMENTS_AT   offsetof(struct gr_root, segments)
#define PLACES_AT     offsetof(struct gr_root, places)
#define SEGMENT_BYTES sizeof(struct gr_segment_record)

/* Zeros where the machine has none. One that only cannot be read now would make objects those of another boot. */
static granary_err
boot_id(char ret_id[40])
{
    size_t size;
    char *text;
    granary_err err = gr_file_read("/proc/sys/kernel/random/boot_id", 4096, &text, &size);

    (void)memset(ret_id, 0, 40);
    if (err == GRANARY_OK) {
        (void)snprintf(ret_id, 40, "%.36s", text);
        free(text);
    }
    return err == GRANARY_ENOENT || err == GRANARY_EPERM ? GRANARY_OK : err;
}

static void
discard_all(const struct gr_instance *instance, const char *why)
{
    int swept = gr_instance_sweep_shm(instance);

    if (swept > 0) {
        gr_log_info("STALE-SWEPT", "shared_memory_files=%d why=%s", swept, why);
    }
}

/* Memory for a range of the file, now: later there would be a SIGBUS instead of an error. */
static granary_err
commit(const struct root *root, uint64_t at, uint64_t bytes)
{
    return gr_fd_allocate(root->fd, at, bytes) == 0
               ? GRANARY_OK
               : gr_fail_errno("shared memory %s: %llu bytes", root->name, (unsigned long long)bytes);
}

/* What is written without asking: all but the segments' records. */
static granary_err
commit_most(const struct root *root)
{
    granary_err err = commit(root, 0, SEGMENTS_AT);

    return err == GRANARY_OK ? commit(root, PLACES_AT, sizeof(struct gr_root) - PLACES_AT) : err;
}

static granary_err
map(struct root *root)
{
    void *bytes = mmap(NULL, sizeof(struct gr_root), PROT_READ | PROT_WRITE, MAP_SHARED, root->fd, 0);

    if (bytes == MAP_FAILED) {
        return gr_fail_errno("shared memory %s: map", root->name);
    }
    (void)madvise(bytes, sizeof(struct gr_root), MADV_DONTFORK);
    root->shm = bytes;
    return GRANARY_OK;
}

static granary_err
create(struct root *root, const struct gr_instance *instance)
{
    struct gr_root *shm;
    char boot[40];
    granary_err err;

    if ((err = boot_id(boot)) != GRANARY_OK) {
        return err;
    }
    err = shmfile_create(root->name, sizeof *shm, &root->fd);
    if (err != GRANARY_OK || (err = commit_most(root)) != GRANARY_OK || (err = map(root)) != GRANARY_OK) {
        return err;
    }
    shm = root->shm;
    shm->version = GR_SHM_VERSION;
    shm->uid = (uint32_t)geteuid();
    memcpy(shm->boot_id, boot, sizeof boot);
    (void)snprintf(shm->runtime, sizeof shm->runtime, "%s", instance->runtime);
    shm->group = UINT32_MAX;
    shm->epoch = (uint64_t)gr_wall_ms() / 1000;
    shm->serial_limit = 1;
    shm->next_session = shm->next_client = shm->next_segment = shm->next_file = 1;
    shm->next_token = 1;
    root->fresh = true;
    FAULT_STEP(root_before_magic);
    atomic_store_explicit(&shm->magic, GR_ROOT_MAGIC, memory_order_release);
    return GRANARY_OK;
}

/* How struct gr_root begins, in all versions. A whole one is larger than some stacks. */
struct root_head {
    uint64_t magic;
    uint32_t version;
    uint32_t state;
    uint64_t epoch;
    uint32_t store_pid;
    uint32_t uid;
    uint64_t store_start_time;
    uint64_t started_ms;
    char boot_id[40];
};
_Static_assert(offsetof(struct root_head, version) == offsetof(struct gr_root, version) &&
                   offsetof(struct root_head, state) == offsetof(struct gr_root, state) &&
                   offsetof(struct root_head, uid) == offsetof(struct gr_root, uid) &&
                   offsetof(struct root_head, boot_id) == offsetof(struct gr_root, boot_id),
               "part of the layout");

static granary_err
fail_to_read(const struct root *root)
{
    return gr_fail_errno("shared memory %s: read", root->name);
}

/* What the file says of itself, as far as all versions agree. GRANARY_ENOENT: nothing that could be adopted. */
static granary_err
check_left(const struct root *root, const struct gr_instance *instance, const char **ret_why)
{
    struct root_head head = {0};
    ssize_t n = pread(root->fd, &head, sizeof head, 0);
    char now[40];
    granary_err err;

    if (n < 0) { /* that says nothing about it */
        return fail_to_read(root);
    }
    if (n < (ssize_t)offsetof(struct root_head, state) || head.magic != GR_ROOT_MAGIC) {
        *ret_why = "its root was never finished";
        return GRANARY_ENOENT;
    }
    if (!gr_shm_known(head.version)) {
        return gr_fail(
            GRANARY_EVERSION,
            "instance %s: its objects were left by a store of shared memory version %u, this one knows %u: "
            "start that release again, or give the objects up with `granary down` or `granary-store --fresh`",
            instance->runtime, head.version, GR_SHM_VERSION);
    }
    if ((err = boot_id(now)) != GRANARY_OK) {
        return err;
    }
    if (memcmp(head.boot_id, now, sizeof now) != 0) {
        *ret_why = "it is of another boot of this machine";
        return GRANARY_ENOENT;
    }
    if (head.uid != (uint32_t)geteuid()) {
        return gr_fail(GRANARY_EPERM, "instance %s: its objects belong to uid %u, this store runs as uid %u",
                       instance->runtime, head.uid, (unsigned)geteuid());
    }
    if (head.state == GR_CONTROL_CLOSED) {
        *ret_why = "its store was being stopped";
        return GRANARY_ENOENT;
    }
    return GRANARY_OK;
}

static granary_err
fail_stranger(const char *name)
{
    return gr_fail(GRANARY_EPERM,
                   "shared memory %s is there and was not made by a store of uid %u: remove /dev/shm%s, or choose "
                   "another --instance",
                   name, (unsigned)geteuid(), name);
}

/* A slot with a larger one would not be believed by the next store. */
static bool
serials_make_sense(const struct root *root)
{
    uint64_t limit = atomic_load_explicit(&root->shm->serial_limit, memory_order_relaxed);

    return limit > 0 && limit <= ROOT_SERIAL_MOST + SERIAL_BLOCK;
}

static granary_err
open_left(struct root *root, const struct gr_instance *instance, const char **ret_why)
{
    struct stat st;
    granary_err err;

    *ret_why = "it has no root";
    root->fd = gr_shm_open(root->name, O_RDWR);
    if (root->fd < 0) {
        return errno == ENOENT                     ? GRANARY_ENOENT
               : errno == EPERM || errno == EACCES ? fail_stranger(root->name)
                                                   : gr_fail_errno("shared memory %s", root->name);
    }
    err = check_left(root, instance, ret_why);
    if (err == GRANARY_OK && fstat(root->fd, &st) < 0) {
        err = fail_to_read(root);
    }
    if (err == GRANARY_OK && st.st_size < (off_t)PLACES_AT) {
        *ret_why = "its root is truncated";
        err = GRANARY_ENOENT;
    }
    if (err == GRANARY_OK && (err = commit_most(root)) == GRANARY_OK) { /* it also grows what an earlier release made */
        err = map(root);
    }
    if (err == GRANARY_OK && !serials_make_sense(root)) {
        (void)munmap(root->shm, sizeof *root->shm);
        root->shm = NULL;
        *ret_why = "its root is damaged: its objects' serials are used up";
        err = GRANARY_ENOENT;
    }
    if (err != GRANARY_OK) {
        gr_fd_close(&root->fd);
    }
    return err;
}

granary_err
root_open(struct root *root, const struct gr_instance *instance, bool discard)
{
    const char *why = "it was asked for";
    granary_err err = GRANARY_ENOENT;

    *root = (struct root){.fd = -1};
    (void)snprintf(root->name, sizeof root->name, "%sroot", instance->shm_prefix);
    if (!discard) {
        err = open_left(root, instance, &why);
    }
    if (err == GRANARY_ENOENT) {
        discard_all(instance, why);
        err = create(root, instance);
    }
    if (err != GRANARY_OK) {
        root->detached = !root->fresh; /* what is there is not ours */
        root_close(root);
        return err;
    }
    root->detached = !root->fresh;
    /* The rest of the last blocks is given up. */
    root->serial = atomic_load(&root->shm->serial_limit) - 1;
    root->stamp = atomic_load(&root->shm->stamp_limit);
    root->shm->store_start_time = gr_process_start_time(getpid());
    root->shm->started_ms = (uint64_t)gr_wall_ms();
    atomic_store(&root->shm->store_pid, (uint32_t)getpid());
    /* A fresh one counts from when it serves: if this store dies before, the next one begins again. */
    root_set_state(root, root->fresh ? GR_CONTROL_CLOSED : GR_CONTROL_ADOPTING);
    atomic_fetch_add(&root->shm->latency_turn, atomic_load(&root->shm->latency_turn) % 2); /* a store died in it */
    atomic_fetch_add(&root->shm->epoch, 1);
    FAULT_STEP(root_epoch);
    return GRANARY_OK;
}

void
root_set_state(struct root *root, enum gr_control_state state)
{
    atomic_store(&root->shm->state, state);
}

void
root_close(struct root *root)
{
    if (root->name[0] == '\0') {
        return;
    }
    if (root->shm != NULL) {
        (void)munmap(root->shm, sizeof *root->shm);
        root->shm = NULL;
    }
    if (root->fd >= 0 && !root->detached) {
        (void)shm_unlink(root->name);
    }
    gr_fd_close(&root->fd);
}

uint64_t
root_serial(struct root *root)
{
    uint64_t limit = atomic_load_explicit(&root->shm->serial_limit, memory_order_relaxed);

    root->serial++;
    if (root->serial >= limit) {
        atomic_store_explicit(&root->shm->serial_limit, limit + SERIAL_BLOCK, memory_order_release);
        FAULT_STEP(root_serials);
    }
    return root->serial;
}

void
root_serial_beyond(struct root *root, uint64_t serial)
{
    if (serial <= root->serial) {
        return;
    }
    root->serial = serial;
    if (serial >= atomic_load_explicit(&root->shm->serial_limit, memory_order_relaxed)) {
        atomic_store_explicit(&root->shm->serial_limit, serial + SERIAL_BLOCK, memory_order_release);
        FAULT_STEP(root_serials);
    }
}

/* No stamp is used before the next store knows that it may have been. */
static void
raise_stamps(struct root *root)
{
    if (root->stamp >= atomic_load_explicit(&root->shm->stamp_limit, memory_order_relaxed)) {
        atomic_store_explicit(&root->shm->stamp_limit, root->stamp + STAMP_BLOCK, memory_order_release);
        FAULT_STEP(root_stamps);
    }
}

uint64_t
root_stamp(struct root *root, int64_t wall_ms)
{
    uint64_t now = (uint64_t)wall_ms << 20;

    root->stamp = root->stamp + 1 > now ? root->stamp + 1 : now;
    raise_stamps(root);
    return root->stamp;
}

void
root_stamp_beyond(struct root *root, uint64_t stamp)
{
    root->stamp = stamp > root->stamp ? stamp : root->stamp;
    raise_stamps(root);
}

uint32_t
root_number(_Atomic uint32_t *next)
{
    uint32_t number = atomic_load_explicit(next, memory_order_relaxed);

    if (number == UINT32_MAX) {
        return 0;
    }
    atomic_store_explicit(next, number + 1, memory_order_release);
    FAULT_STEP(root_number);
    return number;
}

granary_err
root_take_client(struct root *root, struct gr_client_record **ret_record)
{
    for (unsigned i = 0; i < GR_MAX_CLIENTS; i++) {
        struct gr_client_record *record = &root->shm->clients[i];

        if (atomic_load_explicit(&record->word, memory_order_relaxed) == 0) {
            (void)memset(record, 0, sizeof *record);
            *ret_record = record;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EFULL, "the store has %u clients already, and takes no more", GR_MAX_CLIENTS);
}

void
root_drop_client(struct gr_client_record *record)
{
    atomic_store_explicit(&record->word, 0, memory_order_release);
    FAULT_STEP(client_record_dropped);
}

static void
take_word(_Atomic uint64_t *ours, _Atomic uint64_t *theirs)
{
    atomic_fetch_add_explicit(ours, atomic_exchange_explicit(theirs, 0, memory_order_relaxed), memory_order_relaxed);
}

void
root_take_latencies(struct root *root, struct gr_latency theirs[GR_LATENCY_CLIENTS])
{
    atomic_fetch_add(&root->shm->latency_turn, 1);
    for (size_t i = 0; i < GR_LATENCY_CLIENTS; i++) {
        struct gr_latency *ours = &root->shm->latencies[i];

        take_word(&ours->sum_ns, &theirs[i].sum_ns);
        for (size_t b = 0; b < GR_LATENCY_BUCKETS; b++) {
            take_word(&ours->buckets[b], &theirs[i].buckets[b]);
        }
    }
    atomic_fetch_add(&root->shm->latency_turn, 1);
}

granary_err
root_has_segment(const struct root *root, uint32_t place, bool *ret_has)
{
    off_t from = (off_t)(SEGMENTS_AT + place * SEGMENT_BYTES);
    off_t data = lseek(root->fd, from, SEEK_DATA);

    *ret_has = data >= 0 && data <= from;
    return data >= 0 || errno == ENXIO ? GRANARY_OK : fail_to_read(root);
}

granary_err
root_take_segment(struct root *root, uint32_t *ret_number, struct gr_segment_record **ret_record)
{
    for (unsigned tries = 0; tries < GR_MAX_SEGMENTS; tries++) {
        uint32_t number = root_number(&root->shm->next_segment);
        uint32_t place = number % GR_MAX_SEGMENTS;
        bool has;
        granary_err err;

        if (number == 0) {
            return gr_fail(GRANARY_EFULL, "this store has used up its segment numbers; restart the instance");
        }
        if ((err = root_has_segment(root, place, &has)) != GRANARY_OK) {
            return err;
        }
        if (!has && (err = commit(root, SEGMENTS_AT + place / SEGMENT_STEP * SEGMENT_STEP * SEGMENT_BYTES,
                                  SEGMENT_STEP * SEGMENT_BYTES)) != GRANARY_OK) {
            return err;
        }
        if (atomic_load_explicit(&root->shm->segments[place].word, memory_order_relaxed) == 0) {
            *ret_number = number;
            *ret_record = &root->shm->segments[place];
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EFULL, "the store has %u segments already, and makes no more", GR_MAX_SEGMENTS);
}
