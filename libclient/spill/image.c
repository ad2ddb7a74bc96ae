/* Images in spill files: the table of frames is checked first, then each frame as it is read. */
#include "spill/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/id.h"
#include "contract/shm.h"

#define RUN ((size_t)1 << 20) /* stored bytes read at once */

uint64_t
image_seed(const struct spill_record *record)
{
    return gr_hash64(record, offsetof(struct spill_record, checksum));
}

granary_err
image_damaged(const struct image *image, uint64_t at, const char *why)
{
    return gr_fail(GRANARY_ECORRUPT, "object %s: spill file %s: byte %llu: %s", image->text, image->path,
                   (unsigned long long)at, why);
}

static granary_err
read_exactly(const struct image *image, void *bytes, size_t size, uint64_t at)
{
    char *to = bytes;
    uint64_t next = at;

    while (size > 0) {
        ssize_t n = at > INT64_MAX ? 0 : gr_fault_pread(GR_FAULT_spill_read, image->fd, to, size, (off_t)next);

        if (n < 0 && errno == EINVAL) {
            int flags = fcntl(image->fd, F_GETFL);

            if (flags >= 0 && (flags & O_DIRECT) != 0 && fcntl(image->fd, F_SETFL, flags & ~O_DIRECT) == 0) {
                continue;
            }
        }
        if (n == 0) {
            return image_damaged(image, next, "the file ends before it");
        }
        if (n < 0 && errno != EINTR) {
            return gr_fail_errno("object %s: spill file %s: byte %llu", image->text, image->path,
                                 (unsigned long long)next);
        }
        if (n > 0) {
            to += n;
            next += (uint64_t)n;
            size -= (size_t)n;
        }
    }
    return GRANARY_OK;
}

/* A descriptor that may be O_DIRECT reads whole blocks only: at..at+size, wherever they lie in `block`. */
static granary_err
read_unaligned(const struct image *image, void *bytes, size_t size, uint64_t at)
{
    uint64_t from = at / SPILL_BLOCK * SPILL_BLOCK;
    uint64_t to = (at + size + SPILL_BLOCK - 1) / SPILL_BLOCK * SPILL_BLOCK;
    char *block = aligned_alloc(SPILL_BLOCK, (size_t)(to - from));
    granary_err err;

    if (block == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to read an object back");
    }
    err = read_exactly(image, block, (size_t)(to - from), from);
    if (err == GRANARY_OK) {
        memcpy(bytes, block + (at - from), size);
    }
    free(block);
    return err;
}

static granary_err
read_table(struct image *image, uint64_t place)
{
    const struct spill_record *record = &image->record;
    size_t size = record->frames * sizeof *image->table;
    uint64_t at = record->at;
    granary_err err;

    image->table = calloc(record->frames, sizeof *image->table);
    if (image->table == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to read an object back");
    }
    if (record->frames == 1) {
        image->table[0] = (struct spill_frame){.stored = (uint32_t)record->table, .checksum = record->checksum};
    } else {
        err = read_unaligned(image, image->table, size, record->table);
        if (err != GRANARY_OK) {
            return err;
        }
        if (gr_hash64_seeded(image->table, size, image->seed) != record->checksum) {
            return image_damaged(image, place, "its record or its table of frames does not match its checksum");
        }
    }
    for (uint32_t i = 0; i < record->frames; i++) {
        uint32_t stored = image->table[i].stored;
        size_t raw = image_frame_size(image, i);

        if ((stored & FRAME_RAW) != 0 ? stored != (FRAME_RAW | raw) : FRAME_SIZE(stored) >= raw) {
            return image_damaged(image, place, "a frame has an impossible size");
        }
        at += FRAME_SIZE(stored);
    }
    return at < record->at ? image_damaged(image, place, "its frames lie nowhere") : GRANARY_OK;
}

granary_err
image_open(struct image *image, int fd, const char *path, const struct level_object *object, uint64_t place)
{
    struct spill_record *record = &image->record;
    granary_err err;

    *image = (struct image){.fd = fd, .path = path};
    granary_id_format(object->id, image->text);
    image->footprint = GR_FOOTPRINT(object->data_size, (uint64_t)object->meta_size);
    err = read_unaligned(image, record, sizeof *record, place);
    if (err != GRANARY_OK) {
        return err;
    }
    image->frame_bytes = image_frame_bytes(image->footprint, record->frames);
    if (image->frame_bytes == 0 || memcmp(record->id, object->id.bytes, sizeof record->id) != 0 ||
        record->stamp != object->stamp || record->data_size != object->data_size ||
        record->meta_size != object->meta_size) {
        return image_damaged(image, place, "its record is damaged, or another object's");
    }
    image->seed = image_seed(record);
    return read_table(image, place);
}

void
image_close(struct image *image)
{
    free(image->table);
    image->table = NULL;
}

static granary_err
check_frame(const struct image *image, uint32_t frame, const char *stored, uint64_t at)
{
    size_t size = FRAME_SIZE(image->table[frame].stored);
    uint64_t checksum =
        image->record.frames == 1 ? gr_hash64_seeded(stored, size, image->seed) : gr_hash64(stored, size);

    return checksum == image->table[frame].checksum ? GRANARY_OK
                                                    : image_damaged(image, at, "a frame does not match its checksum");
}

granary_err
image_read(const struct image *image, uint32_t first, uint32_t count, image_frame_fn fn, void *context,
           struct level_cost *cost)
{
    uint64_t at = image->record.at;
    uint64_t total = 0;
    size_t room;
    char *run;
    granary_err err = GRANARY_OK;

    for (uint32_t i = 0; i < first + count; i++) {
        at += i < first ? FRAME_SIZE(image->table[i].stored) : 0;
        total += i < first ? 0 : FRAME_SIZE(image->table[i].stored);
    }
    room = (total < RUN ? (size_t)total : RUN) + 2 * (size_t)SPILL_BLOCK;
    run = aligned_alloc(SPILL_BLOCK, room / SPILL_BLOCK * SPILL_BLOCK);
    if (run == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to read an object back");
    }
    for (uint32_t next = first; next < first + count && err == GRANARY_OK;) {
        uint64_t from = at / SPILL_BLOCK * SPILL_BLOCK;
        uint64_t to = at;
        uint32_t last = next;

        while (last < first + count && to - at + FRAME_SIZE(image->table[last].stored) <= RUN) {
            to += FRAME_SIZE(image->table[last++].stored);
        }
        to = (to + SPILL_BLOCK - 1) / SPILL_BLOCK * SPILL_BLOCK;
        err = read_exactly(image, run, (size_t)(to - from), from);
        if (cost != NULL && err == GRANARY_OK) {
            cost->frames += last - next;
            cost->bytes += to - from;
        }
        for (; next < last && err == GRANARY_OK; next++) {
            const char *stored = run + (at - from);

            err = check_frame(image, next, stored, at);
            err = err == GRANARY_OK ? fn(context, image, next, stored) : err;
            at += FRAME_SIZE(image->table[next].stored);
        }
    }
    free(run);
    return err;
}
