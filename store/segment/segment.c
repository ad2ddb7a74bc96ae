/* Segments: states by the table in segment.h, each change made to the record first. */
#include "store/segment/segment.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "store/base/node.h"
#include "store/base/shmfile.h"
#include "store/core/core.h"
#include "store/segment/victim.h"

#define PAGE 4096u

/* Before there is a file of that name: whoever adopts the instance finds a record for each file. */
static void
record_init(const struct segment *segment, uint32_t session)
{
    struct gr_segment_record *record = segment->record;

    record->size = segment->size;
    record->session = session;
    atomic_store_explicit(&record->writer, 0, memory_order_relaxed);
    atomic_store_explicit(&record->sealed_total, 0, memory_order_relaxed);
    atomic_store_explicit(&record->flags, 0, memory_order_relaxed);
    atomic_store_explicit(&record->resident, 0, memory_order_relaxed);
    record->node = 0;
    atomic_store_explicit(&record->request, 0, memory_order_relaxed);
    record->since_ms = (uint64_t)gr_wall_ms();
    FAULT_STEP(segment_record_fields);
    segment_note(segment, GR_SEGMENT_OPEN);
}

void
segment_record_drop(struct gr_segment_record *record)
{
    atomic_store_explicit(&record->word, 0, memory_order_release);
    FAULT_STEP(segment_record_dropped);
}

void
segment_note(const struct segment *segment, enum gr_segment_state state)
{
    atomic_store_explicit(&segment->record->word, (uint64_t)segment->number << 8 | state, memory_order_release);
    FAULT_STEP(segment_record_state);
}

/* The slot is there already: a crash in between leaves the object out of the total, never the other way. */
static void
note_sealed(const struct segment *segment)
{
    FAULT_STEP(segment_before_sealed_total);
    atomic_store_explicit(&segment->record->sealed_total, segment->sealed_total, memory_order_release);
    FAULT_STEP(segment_after_sealed_total);
}

void
segment_set_writer(struct segment *segment, struct client *writer, uint32_t number)
{
    segment->writer = writer;
    atomic_store_explicit(&segment->record->writer, number, memory_order_release);
    FAULT_STEP(segment_record_writer);
}

void
segment_grant(struct segment *segment, struct client *writer, uint32_t number)
{
    if (writer == NULL) {
        (void)atomic_fetch_and_explicit(&segment->record->flags, ~GR_SEGMENT_CLIENTS, memory_order_release);
    } else {
        (void)atomic_fetch_or_explicit(&segment->record->flags, GR_SEGMENT_CLIENTS, memory_order_release);
    }
    segment_set_writer(segment, writer, number);
}

void
segment_set_request(struct segment *segment, uint64_t request)
{
    atomic_store_explicit(&segment->record->request, request, memory_order_release);
    FAULT_STEP(segment_record_request);
}

void
segment_set_spoiled(struct segment *segment)
{
    segment->spoiled = true;
    (void)atomic_fetch_or_explicit(&segment->record->flags, GR_SEGMENT_SPOILED, memory_order_release);
}

void
segment_set_huge(struct segment *segment)
{
    segment->huge = true;
    (void)atomic_fetch_or_explicit(&segment->record->flags, GR_SEGMENT_HUGE, memory_order_release);
}

void
segment_set_node(struct segment *segment, unsigned node)
{
    segment->node = node;
    segment->record->node = node;
    node_bind_file(segment->fd, segment->size, node);
}

/* One that is in no list, without a file. NULL: out of memory. */
static struct segment *
segment_alloc(struct gr_segment_record *record, uint32_t number, uint64_t size)
{
    struct segment *segment = calloc(1, sizeof *segment);

    if (segment != NULL) {
        list_init(&segment->in_session);
        list_init(&segment->in_order);
        list_init(&segment->in_torn);
        list_init(&segment->in_offered);
        victim_segment_init(segment);
        segment->number = number;
        segment->size = size;
        segment->record = record;
    }
    return segment;
}

granary_err
segment_create(struct account *account, const char *prefix, uint32_t session, uint32_t number, uint64_t size,
               enum gr_account open_as, struct gr_segment_record *record, struct segment **ret_segment)
{
    struct segment *segment;
    char name[96];
    granary_err err;

    assert(size % PAGE == 0 && size <= account->bytes[GR_ACCOUNT_FREE]);

    segment = segment_alloc(record, number, size);
    if (segment == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a segment");
    }
    record_init(segment, session);
    shmfile_name(name, prefix, session, "data", number);
    err = shmfile_create(name, size, &segment->fd);
    if (err != GRANARY_OK) {
        segment_record_drop(record);
        free(segment);
        return err;
    }
    FAULT_STEP(segment_created);
    segment->open_as = open_as;
    account_move(account, GR_ACCOUNT_FREE, open_as, size);
    *ret_segment = segment;
    return GRANARY_OK;
}

granary_err
segment_adopt(const char *prefix, struct gr_segment_record *record, struct segment **ret_segment)
{
    uint64_t word = atomic_load(&record->word);
    struct segment *segment;
    char name[96];
    struct stat st;
    granary_err err;

    segment = segment_alloc(record, (uint32_t)(word >> 8), record->size);
    if (segment == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a segment");
    }
    segment->sealed_total = atomic_load(&record->sealed_total);
    segment->open_as = GR_ACCOUNT_WRITING;
    segment->closed = (word & 0xff) != GR_SEGMENT_OPEN;
    segment->spoiled = (atomic_load(&record->flags) & GR_SEGMENT_SPOILED) != 0;
    segment->huge = (atomic_load(&record->flags) & GR_SEGMENT_HUGE) != 0;
    segment->node = record->node;
    shmfile_name(name, prefix, record->session, "data", segment->number);
    segment->fd = gr_shm_open(name, O_RDWR);
    if (segment->fd < 0 || fstat(segment->fd, &st) < 0) {
        err = errno != ENOENT ? gr_fail_errno("shared memory %s", name) : GRANARY_ENOENT;
    } else {
        err = (uint64_t)st.st_size < segment->size ? GRANARY_ENOENT : GRANARY_OK;
    }
    if (err != GRANARY_OK) {
        gr_fd_close(&segment->fd);
        free(segment);
        return err;
    }
    *ret_segment = segment;
    return GRANARY_OK;
}

void
segment_adopted(struct segment *segment, struct account *account)
{
    uint64_t sealed = segment->live + segment->deleting;

    /* The record may lack the last object, and nothing in it is more than the size. */
    segment->sealed_total = segment->sealed_total < sealed          ? sealed
                            : segment->sealed_total > segment->size ? segment->size
                                                                    : segment->sealed_total;
    account_move(account, GR_ACCOUNT_FREE, segment->open_as,
                 segment->closed ? 0 : segment->size - segment->sealed_total);
    account_move(account, GR_ACCOUNT_FREE, GR_ACCOUNT_SEALED, segment->live);
    account_move(account, GR_ACCOUNT_FREE, GR_ACCOUNT_RETIRING, segment->deleting);
    account_move(account, GR_ACCOUNT_FREE, GR_ACCOUNT_POOLED, segment_dead(segment));
    segment->torn = segment->closed ? segment_dead(segment) : 0;
    if (!segment->closed) {
        note_sealed(segment);
    }
}

int
segment_release(struct segment *segment, struct account *account)
{
    int fd = segment->fd;

    assert(segment->live == 0 && segment->deleting == 0 && segment->busy == 0);

    segment_close(segment, account);
    list_remove(&segment->in_session);
    list_remove(&segment->in_order);
    list_remove(&segment->in_torn);
    list_remove(&segment->in_offered);
    free(segment->entries);
    free(segment);
    return fd;
}

void
segment_destroy(struct segment *segment, struct account *account, const char *prefix, uint32_t session)
{
    struct gr_segment_record *record = segment->record;
    uint64_t bytes = segment->size - segment->punched;
    char name[96];
    int fd;

    shmfile_name(name, prefix, session, "data", segment->number);
    fd = segment_release(segment, account);
    account_move(account, GR_ACCOUNT_POOLED, GR_ACCOUNT_FREE, bytes);
    FAULT_STEP(segment_truncated);
    (void)shm_unlink(name);
    FAULT_STEP(segment_unlinked);
    segment_record_drop(record);
    gr_fd_close(&fd);
}

void
segment_reopen(struct segment *segment, struct account *account, enum gr_account open_as)
{
    assert(segment->closed && segment->live == 0 && segment->deleting == 0 && segment->punched == 0 &&
           segment->busy == 0);

    segment->closed = false;
    segment->sealed_total = 0;
    segment->carved = 0;
    segment->entry_count = 0;
    segment->torn = 0;
    segment->open_as = open_as;
    account_move(account, GR_ACCOUNT_POOLED, open_as, segment->size);
    note_sealed(segment);
    segment_note(segment, GR_SEGMENT_OPEN);
}

void
segment_close(struct segment *segment, struct account *account)
{
    if (!segment->closed) {
        account_move(account, segment->open_as, GR_ACCOUNT_POOLED, segment->size - segment->sealed_total);
        segment->closed = true;
        segment->torn += segment->size - segment->sealed_total;
        segment_note(segment, GR_SEGMENT_CLOSED);
    }
}

bool
segment_prove(struct segment *segment, const char *prefix)
{
    granary_err err = GRANARY_OK;
    char name[96];
    int fd;

    if (segment->proven) { /* with a second object in it: the first seal took the mapping away */
        return true;
    }
    shmfile_name(name, prefix, segment->session->number, "data", segment->number);
    fd = shmfile_open_readonly(name, &err);
    if (fd < 0) {
        return false;
    }
    gr_fd_close(&segment->fd);
    segment->proven = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
    if (segment->proven) {
        (void)fcntl(fd, F_SETLEASE, F_UNLCK);
        segment->fd = fd;
    } else {
        segment->fd = gr_shm_open(name, O_RDWR | O_NONBLOCK);
        if (segment->fd < 0) { /* its writer is in the way: it can be read, and is not granted again */
            segment->fd = fd;
            segment_set_spoiled(segment);
        } else {
            gr_fd_close(&fd);
        }
    }
    return segment->proven;
}

int
segment_open_readonly(const struct segment *segment, const char *prefix, granary_err *ret_err)
{
    char name[96];
    int fd;

    shmfile_name(name, prefix, segment->session->number, "data", segment->number);
    fd = shmfile_open_readonly(name, ret_err);
    if (fd < 0 && errno == EWOULDBLOCK) {
        /* Its writer has taken a lease on it. Our descriptor is the same open file, so we can take that away. */
        (void)fcntl(segment->fd, F_SETLEASE, F_UNLCK);
        fd = shmfile_open_readonly(name, ret_err);
    }
    return fd;
}

bool
segment_expect(struct segment *segment)
{
    if (segment->entry_count == segment->entry_room) {
        uint32_t room = segment->entry_room == 0 ? 4 : segment->entry_room * 2;
        struct index_place *more = realloc(segment->entries, room * sizeof *more);

        if (more == NULL) {
            return false;
        }
        segment->entries = more;
        segment->entry_room = room;
    }
    return true;
}

void
segment_seal(struct segment *segment, struct account *account, uint64_t footprint, struct index_place place)
{
    assert(!segment->closed && segment->sealed_total + footprint <= segment->size);
    assert(segment->entry_count < segment->entry_room);

    segment->entries[segment->entry_count++] = place;
    segment->sealed_total += footprint;
    segment->live += footprint;
    account_move(account, segment->open_as, GR_ACCOUNT_SEALED, footprint);
    note_sealed(segment);
}

void
segment_waste(struct segment *segment, struct account *account, uint64_t footprint)
{
    assert(!segment->closed && segment->sealed_total + footprint <= segment->size);

    segment->sealed_total += footprint;
    account_move(account, segment->open_as, GR_ACCOUNT_POOLED, footprint);
    note_sealed(segment);
}

void
segment_died(struct segment *segment, struct account *account, uint64_t footprint)
{
    assert(segment->live >= footprint);

    segment->live -= footprint;
    segment->torn += footprint;
    account_move(account, GR_ACCOUNT_SEALED, GR_ACCOUNT_POOLED, footprint);
}

void
segment_deleting(struct segment *segment, struct account *account, uint64_t footprint)
{
    assert(segment->live >= footprint);

    segment->live -= footprint;
    segment->deleting += footprint;
    account_move(account, GR_ACCOUNT_SEALED, GR_ACCOUNT_RETIRING, footprint);
}

void
segment_deleted(struct segment *segment, struct account *account, uint64_t footprint)
{
    assert(segment->deleting >= footprint);

    segment->deleting -= footprint;
    segment->torn += footprint;
    account_move(account, GR_ACCOUNT_RETIRING, GR_ACCOUNT_POOLED, footprint);
}

uint64_t
segment_punch(struct segment *segment, uint64_t offset, uint64_t size)
{
    uint64_t from = (offset + PAGE - 1) / PAGE * PAGE;
    uint64_t to = (offset + size) / PAGE * PAGE;

    assert(offset + size <= segment->size);

    if (from >= to ||
        fallocate(segment->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from)) < 0) {
        return 0;
    }
    return to - from;
}

uint64_t
segment_add_punched(struct segment *segment, struct account *account, uint64_t bytes)
{
    uint64_t dead = segment_dead(segment);

    /* A writer that sealed overlapping objects may make more holes than there are dead bytes. */
    bytes = bytes < dead ? bytes : dead;
    segment->punched += bytes;
    account_move(account, GR_ACCOUNT_POOLED, GR_ACCOUNT_FREE, bytes);
    return bytes;
}

uint64_t
segment_warm_bytes(const struct segment *segment)
{
    struct stat st;

    if (fstat(segment->fd, &st) < 0 || st.st_size < (off_t)segment->size) {
        return 0;
    }
    /* A writer fills from offset 0 up and holes were ruled out, so what is there is a prefix. */
    return (uint64_t)st.st_blocks * 512 < segment->size ? (uint64_t)st.st_blocks * 512 / PAGE * PAGE : segment->size;
}

struct gr_slot *
segment_entry_slot(const struct segment *segment, const struct index_place *entry, unsigned states)
{
    struct gr_slot *slot = index_at(&segment->session->index, entry);

    return slot != NULL && (1u << slot_state(slot) & states) != 0 && slot_where(slot) == segment->number ? slot : NULL;
}
