/*
 * Any bytes as a spill file: scanned, its objects looked up, read and unpacked. Each is an error with a message, or all
 * of its bytes are written where they belong and nowhere else. As the first byte says, checksums are put right first,
 * so that what is behind them is reached.
 *
 *   bytes   flags, then the file, which is filled up to whole blocks
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "contract/shm.h"
#include "fuzz/fuzz.h"
#include "spill/format.h"
#include "spill/image.h"
#include "store/level/spillfile.h"

#define FIX_HEADER 1u
#define FIX_FOOTER 2u
#define FIX_INDEX  4u
#define FIX_FRAMES 8u

#define NUMBER       7u
#define OBJECTS_MOST 8u
#define READ_MOST    ((uint64_t)4 << 20)
#define GUARD        ((uint64_t)64)

static char dir[64]; /* named as store/world.c does, which sweeps what a target that aborted left */
static char path[80];
static int memory = -1;

static void
sweep(void)
{
    gr_remove_tree(dir);
}

static void
open_place(void)
{
    (void)snprintf(dir, sizeof dir, "/dev/shm/granary-fuzz-%d-XXXXXX", (int)getpid());
    if (mkdtemp(dir) == NULL || atexit(sweep) != 0) {
        abort();
    }
    (void)snprintf(path, sizeof path, "%s/spill.%u", dir, NUMBER);
    memory = memfd_create("fuzz", MFD_CLOEXEC);
    if (memory < 0) {
        abort();
    }
}

/* ---- checksums ---- */

static bool
lies_in(uint64_t at, uint64_t size, uint64_t file_size)
{
    return at <= file_size && size <= file_size - at;
}

static void
fix_record(unsigned char *file, uint64_t size, struct spill_record *record)
{
    uint64_t seed = image_seed(record);
    uint64_t at = record->at;

    if (record->frames == 1) {
        uint64_t stored = FRAME_SIZE((uint32_t)record->table);

        if (lies_in(at, stored, size)) {
            record->checksum = gr_hash64_seeded(file + at, stored, seed);
        }
        return;
    }
    if (record->frames == 0 || !lies_in(record->table, record->frames * sizeof(struct spill_frame), size)) {
        return;
    }
    for (uint32_t i = 0; i < record->frames; i++) {
        struct spill_frame frame;
        unsigned char *place = file + record->table + i * sizeof frame;

        memcpy(&frame, place, sizeof frame);
        if (lies_in(at, FRAME_SIZE(frame.stored), size)) {
            frame.checksum = gr_hash64(file + at, FRAME_SIZE(frame.stored));
            memcpy(place, &frame, sizeof frame);
        }
        at += FRAME_SIZE(frame.stored);
    }
    record->checksum = gr_hash64_seeded(file + record->table, record->frames * sizeof(struct spill_frame), seed);
}

static void
fix_header(unsigned char *file)
{
    struct spill_header header;

    memcpy(&header, file, sizeof header);
    header.magic = SPILL_MAGIC;
    header.version = SPILL_VERSION;
    header.number = NUMBER;
    header.checksum = gr_hash64(&header, offsetof(struct spill_header, checksum));
    memcpy(file, &header, sizeof header);
}

static void
fix_rest(unsigned char *file, uint64_t size, unsigned flags)
{
    struct spill_footer footer;
    unsigned char *place = file + size - sizeof footer;

    memcpy(&footer, place, sizeof footer);
    if (footer.objects < size && lies_in(footer.index_at, footer.objects * sizeof(struct spill_record), size)) {
        for (uint64_t i = 0; i < footer.objects && (flags & FIX_FRAMES) != 0; i++) {
            struct spill_record record;

            memcpy(&record, file + footer.index_at + i * sizeof record, sizeof record);
            fix_record(file, size, &record);
            memcpy(file + footer.index_at + i * sizeof record, &record, sizeof record);
        }
        if ((flags & FIX_INDEX) != 0) {
            footer.index_checksum = gr_hash64(file + footer.index_at, footer.objects * sizeof(struct spill_record));
        }
    }
    footer.magic = FOOTER_MAGIC;
    footer.version = SPILL_VERSION;
    footer.number = NUMBER;
    footer.bytes = size;
    footer.checksum = gr_hash64(&footer, offsetof(struct spill_footer, checksum));
    memcpy(place, &footer, sizeof footer);
}

/* ---- what readers make of it ---- */

struct found {
    unsigned count;
    struct level_record records[OBJECTS_MOST];
};

static granary_err
on_file(void *context, const struct level_file *file)
{
    (void)context;
    if (file->err != GRANARY_OK && granary_error_message()[0] == '\0') {
        abort();
    }
    return GRANARY_OK;
}

static granary_err
on_record(void *context, const struct level_file *file, const struct level_record *record)
{
    struct found *found = context;

    if (record->place + sizeof(struct spill_record) > file->bytes) {
        abort();
    }
    if (found->count < OBJECTS_MOST) {
        found->records[found->count++] = *record;
    }
    return GRANARY_OK;
}

/* Exactly its bytes are written: what is before and behind them stays. */
static void
read_object(const struct level_object *object, uint64_t from, uint64_t size)
{
    unsigned char guard[GUARD];
    unsigned char want[GUARD];
    granary_err err;

    memset(want, 0xa5, sizeof want);
    if (ftruncate(memory, 0) < 0 || pwrite(memory, want, GUARD, 0) != (ssize_t)GUARD ||
        pwrite(memory, want, GUARD, (off_t)(GUARD + size)) != (ssize_t)GUARD) {
        abort();
    }
    err = spillfile_read(path, false, object, from, size, NULL);
    if (err != GRANARY_OK && granary_error_message()[0] == '\0') {
        abort();
    }
    if (pread(memory, guard, GUARD, 0) != (ssize_t)GUARD || memcmp(guard, want, GUARD) != 0 ||
        pread(memory, guard, GUARD, (off_t)(GUARD + size)) != (ssize_t)GUARD || memcmp(guard, want, GUARD) != 0) {
        abort();
    }
}

static void
look_up(const struct level_record *record)
{
    struct level_object object = {.id = record->id,
                                  .data_size = record->data_size,
                                  .meta_size = record->meta_size,
                                  .stamp = record->stamp,
                                  .fd = memory,
                                  .offset = GUARD,
                                  .place = record->place};
    struct level_record info;
    uint64_t footprint;

    if (record->data_size > GR_MAX_OBJECT || record->meta_size > GR_MAX_META) {
        abort(); /* a scan tells of none that cannot be */
    }
    footprint = GR_FOOTPRINT(record->data_size, (uint64_t)record->meta_size);
    if (spillfile_info(path, &object, &info) == GRANARY_OK &&
        (info.data_size != record->data_size || info.frames != record->frames)) {
        abort();
    }
    if (footprint <= READ_MOST) {
        read_object(&object, 0, footprint);
        if (footprint > LEVEL_FRAME) {
            read_object(&object, LEVEL_FRAME, footprint - LEVEL_FRAME);
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint64_t whole = (size + SPILL_BLOCK - 2) / SPILL_BLOCK * SPILL_BLOCK; /* without the flags */
    struct found found = {.count = 0};
    const struct level_visitor visitor = {.context = &found, .file = on_file, .record = on_record};
    unsigned char *file;
    int fd;

    if (size < 2) {
        return 0;
    }
    if (memory < 0) {
        open_place();
    }
    file = calloc(1, whole);
    memcpy(file, bytes + 1, size - 1);
    if ((bytes[0] & FIX_FOOTER) != 0) {
        fix_rest(file, whole, bytes[0]);
    }
    if ((bytes[0] & FIX_HEADER) != 0) {
        fix_header(file);
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || gr_pwrite_all(fd, file, whole, 0) != GRANARY_OK) {
        abort();
    }
    gr_fd_close(&fd);
    free(file);
    (void)level_scan_directory(dir, &visitor);
    for (unsigned i = 0; i < found.count; i++) {
        look_up(&found.records[i]);
    }
    return 0;
}
