#include "store/segment.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "store/shmfile.h"

#define PAGE 4096u

granary_err
segment_create(struct account *account, const char *prefix, uint32_t session, uint32_t number, uint64_t size,
               enum gr_account open_as, struct segment **ret_segment)
{
    struct segment *segment;
    char name[96];
    granary_err err;

    assert(size % PAGE == 0 && size <= account->bytes[GR_ACCOUNT_FREE]);

    segment = calloc(1, sizeof *segment);
    if (segment == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a segment");
    }
    shmfile_name(name, prefix, session, "data", number);
    err = shmfile_create(name, size, &segment->fd);
    if (err != GRANARY_OK) {
        free(segment);
        return err;
    }
    list_init(&segment->in_session);
    list_init(&segment->in_order);
    segment->number = number;
    segment->size = size;
    segment->open_as = open_as;
    account_move(account, GR_ACCOUNT_FREE, open_as, size);
    *ret_segment = segment;
    return GRANARY_OK;
}

void
segment_destroy(struct segment *segment, struct account *account, const char *prefix, uint32_t session)
{
    char name[96];

    assert(segment->live == 0 && segment->deleting == 0 && segment->busy == 0);

    segment_close(segment, account);
    account_move(account, GR_ACCOUNT_POOLED, GR_ACCOUNT_FREE, segment->size - segment->punched);
    shmfile_name(name, prefix, session, "data", segment->number);
    (void)shm_unlink(name);
    gr_fd_close(&segment->fd);
    list_remove(&segment->in_session);
    list_remove(&segment->in_order);
    free(segment->entries);
    free(segment);
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
    segment->died_since_punch = false;
    segment->open_as = open_as;
    account_move(account, GR_ACCOUNT_POOLED, open_as, segment->size);
}

void
segment_close(struct segment *segment, struct account *account)
{
    if (!segment->closed) {
        account_move(account, segment->open_as, GR_ACCOUNT_POOLED, segment->size - segment->sealed_total);
        segment->closed = true;
        segment->died_since_punch = true;
    }
}

bool
segment_expect(struct segment *segment)
{
    if (segment->entry_count == segment->entry_room) {
        uint32_t room = segment->entry_room == 0 ? 4 : segment->entry_room * 2;
        struct segment_entry *more = realloc(segment->entries, room * sizeof *more);

        if (more == NULL) {
            return false;
        }
        segment->entries = more;
        segment->entry_room = room;
    }
    return true;
}

void
segment_seal(struct segment *segment, struct account *account, uint64_t footprint, uint32_t slot, uint64_t serial)
{
    assert(!segment->closed && segment->sealed_total + footprint <= segment->size);
    assert(segment->entry_count < segment->entry_room);

    segment->entries[segment->entry_count++] = (struct segment_entry){slot, (uint32_t)serial};
    segment->sealed_total += footprint;
    segment->live += footprint;
    account_move(account, segment->open_as, GR_ACCOUNT_SEALED, footprint);
}

void
segment_waste(struct segment *segment, struct account *account, uint64_t footprint)
{
    assert(!segment->closed && segment->sealed_total + footprint <= segment->size);

    segment->sealed_total += footprint;
    account_move(account, segment->open_as, GR_ACCOUNT_POOLED, footprint);
}

void
segment_died(struct segment *segment, struct account *account, uint64_t footprint)
{
    assert(segment->live >= footprint);

    segment->live -= footprint;
    segment->died_since_punch = true;
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
    segment->died_since_punch = true;
    account_move(account, GR_ACCOUNT_RETIRING, GR_ACCOUNT_POOLED, footprint);
}

uint64_t
segment_punch(struct segment *segment, uint64_t offset, uint64_t size)
{
    uint64_t from = (offset + PAGE - 1) / PAGE * PAGE;
    uint64_t to = (offset + size) / PAGE * PAGE;

    assert(segment->busy == 0 && offset + size <= segment->size);

    if (from >= to ||
        fallocate(segment->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from)) < 0) {
        return 0;
    }
    return to - from;
}

void
segment_add_punched(struct segment *segment, struct account *account, uint64_t bytes)
{
    uint64_t dead = segment_dead(segment);

    /* A writer that sealed overlapping objects may make more holes than there are dead bytes. */
    bytes = bytes < dead ? bytes : dead;
    segment->punched += bytes;
    account_move(account, GR_ACCOUNT_POOLED, GR_ACCOUNT_FREE, bytes);
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
