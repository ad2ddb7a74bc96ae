/* Making a spill file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/id.h"
#include "contract/shm.h"
#include "pack/pack.h"
#include "spill/image.h"
#include "store/level/output.h"
#include "store/level/spillfile.h"

struct writer {
    struct output output;
    char *raw;    /* LEVEL_FRAME bytes */
    char *packed; /* LEVEL_FRAME_MOST bytes */
    struct spill_record *index;
    struct spill_frame *table; /* of the object being written */
    size_t table_room;
};

/* Passes an error on; when it says that the object's own bytes are not what they should be, the object is marked. */
static granary_err
blame(struct level_object *object, granary_err err)
{
    object->unreadable = object->unreadable || err == GRANARY_ECORRUPT;
    return err;
}

static granary_err
fetch(struct writer *writer, struct level_object *object, uint64_t from, size_t size)
{
    granary_err err = gr_pread_all(object->fd, writer->raw, size, (int64_t)(object->offset + from));

    return err == GRANARY_OK ? err : blame(object, gr_fail_in(GRANARY_ECORRUPT, "an object's shared memory"));
}

static granary_err
write_frame(struct writer *writer, struct level_object *object, uint64_t from, size_t size,
            struct spill_frame *ret_frame, const char **ret_stored)
{
    granary_err err = fetch(writer, object, from, size);

    if (err == GRANARY_OK) {
        *ret_frame = (struct spill_frame){.stored = frame_pack(writer->raw, size, writer->packed, ret_stored)};
        err = output_put(&writer->output, *ret_stored, FRAME_SIZE(ret_frame->stored));
    }
    return err;
}

static granary_err
expect_frames(struct writer *writer, uint32_t frames)
{
    struct spill_frame *more;

    if (frames <= writer->table_room) {
        return GRANARY_OK;
    }
    more = realloc(writer->table, frames * sizeof *more);
    if (more == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to spill an object");
    }
    writer->table = more;
    writer->table_room = frames;
    return GRANARY_OK;
}

/* The frames are written: the table follows them, and the record is complete. `only` is the frame when it is alone. */
static granary_err
write_table(struct writer *writer, struct spill_record *record, const char *only)
{
    size_t size = record->frames * sizeof *writer->table;

    if (record->frames == 1) {
        record->table = writer->table[0].stored;
        record->checksum = gr_hash64_seeded(only, FRAME_SIZE(writer->table[0].stored), image_seed(record));
        return GRANARY_OK;
    }
    record->table = writer->output.at;
    record->checksum = gr_hash64_seeded(writer->table, size, image_seed(record));
    return output_put(&writer->output, writer->table, size);
}

static granary_err
write_object(struct writer *writer, struct level_object *object, struct spill_record *record)
{
    uint64_t footprint = GR_FOOTPRINT(object->data_size, (uint64_t)object->meta_size);
    uint32_t frames = image_frames(footprint);
    const char *stored = NULL;
    granary_err err = expect_frames(writer, frames);

    *record = (struct spill_record){
        .stamp = object->stamp,
        .data_size = object->data_size,
        .meta_size = object->meta_size,
        .frames = frames,
        .at = writer->output.at,
    };
    memcpy(record->id, object->id.bytes, sizeof record->id);
    for (uint32_t i = 0; i < frames && err == GRANARY_OK; i++) {
        uint64_t from = i * LEVEL_FRAME;
        uint64_t left = footprint - from;

        err = write_frame(writer, object, from, (size_t)(left < LEVEL_FRAME ? left : LEVEL_FRAME), &writer->table[i],
                          &stored);
        if (err == GRANARY_OK && frames > 1) {
            writer->table[i].checksum = gr_hash64(stored, FRAME_SIZE(writer->table[i].stored));
        }
    }
    return err == GRANARY_OK ? write_table(writer, record, stored) : err;
}

static granary_err
copy_frame(void *context, const struct image *image, uint32_t frame, const char *stored)
{
    struct writer *writer = context;
    size_t size = FRAME_SIZE(image->table[frame].stored);

    writer->table[frame] = image->table[frame];
    if (image->record.frames == 1) {
        memcpy(writer->packed, stored, size); /* write_table() needs it */
    }
    return output_put(&writer->output, stored, size);
}

/* From another file: verified, but neither unpacked nor packed again. */
static granary_err
copy_object(struct writer *writer, struct level_object *object, struct spill_record *record)
{
    struct image image;
    granary_err err = image_open(&image, object->fd, "being rewritten", object, object->offset);

    err = err == GRANARY_OK ? expect_frames(writer, image.record.frames) : err;
    if (err == GRANARY_OK) {
        *record = image.record;
        record->at = writer->output.at;
        err = image_read(&image, 0, image.record.frames, copy_frame, writer, NULL);
    }
    err = err == GRANARY_OK ? write_table(writer, record, writer->packed) : blame(object, err);
    image_close(&image);
    return err;
}

static granary_err
write_header(struct writer *writer, const struct level_file *file)
{
    struct spill_header header = {
        .magic = SPILL_MAGIC,
        .version = SPILL_VERSION,
        .number = file->number,
        .flags = file->flags,
        .created_ms = (uint64_t)gr_wall_ms(),
        .uid = file->uid,
        .session_flags = file->session_flags,
    };

    (void)snprintf(header.session, sizeof header.session, "%s", file->session);
    header.checksum = gr_hash64(&header, offsetof(struct spill_header, checksum));
    return output_put(&writer->output, &header, sizeof header);
}

static granary_err
put_zeros(struct writer *writer, uint64_t until)
{
    static const char zeros[SPILL_BLOCK];

    return output_put(&writer->output, zeros, (size_t)(until - writer->output.at));
}

/* The index, and a footer that ends a block. */
static granary_err
write_end(struct writer *writer, const struct level_file *file, struct level_object *objects, size_t count)
{
    size_t index_size = count * sizeof *writer->index;
    uint64_t index_at = (writer->output.at + 63) / 64 * 64;
    uint64_t end = index_at + index_size + sizeof(struct spill_footer);
    struct spill_footer footer = {
        .magic = FOOTER_MAGIC,
        .version = SPILL_VERSION,
        .number = file->number,
        .flags = file->flags,
        .objects = count,
        .index_at = index_at,
        .bytes = (end + SPILL_BLOCK - 1) / SPILL_BLOCK * SPILL_BLOCK,
        .index_checksum = gr_hash64(writer->index, index_size),
    };
    granary_err err = put_zeros(writer, index_at);

    for (size_t i = 0; i < count; i++) {
        objects[i].place = index_at + i * sizeof *writer->index;
    }
    footer.checksum = gr_hash64(&footer, offsetof(struct spill_footer, checksum));
    err = err == GRANARY_OK ? output_put(&writer->output, writer->index, index_size) : err;
    err = err == GRANARY_OK ? put_zeros(writer, footer.bytes - sizeof footer) : err;
    return err == GRANARY_OK ? output_put(&writer->output, &footer, sizeof footer) : err;
}

static granary_err
write_all(struct writer *writer, const struct level_file *file, struct level_object *objects, size_t count)
{
    granary_err err = write_header(writer, file);

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = objects[i].packed ? copy_object(writer, &objects[i], &writer->index[i])
                                : write_object(writer, &objects[i], &writer->index[i]);
    }
    return err == GRANARY_OK ? write_end(writer, file, objects, count) : err;
}

granary_err
spillfile_write(const char *path, const char *partial, bool direct, bool durable, const struct level_file *file,
                struct level_object *objects, size_t count, uint64_t allowance, uint64_t *ret_written)
{
    struct writer writer = {
        .raw = malloc(LEVEL_FRAME),
        .packed = malloc(LEVEL_FRAME_MOST),
        .index = calloc(count, sizeof *writer.index),
    };
    granary_err err;

    err = output_open(&writer.output, partial, direct, allowance);
    FAULT_STEP(spill_file_created);
    if (err == GRANARY_OK && (writer.raw == NULL || writer.packed == NULL || writer.index == NULL)) {
        err = gr_fail(GRANARY_ENOMEM, "no memory to spill");
    }
    if (err == GRANARY_OK) {
        err = write_all(&writer, file, objects, count);
    }
    if (err == GRANARY_OK) {
        FAULT_STEP(spill_file_filled);
        err = output_finish(&writer.output, durable);
        FAULT_STEP(spill_file_written);
    }
    if (err == GRANARY_OK && (FAULT_FAILS(spill_rename) || rename(partial, path) < 0)) {
        err = gr_fail_errno("rename");
    }
    FAULT_STEP(spill_file_renamed);
    if (err == GRANARY_OK) {
        *ret_written = writer.output.at;
    } else {
        bool own = writer.output.fd >= 0;

        err = gr_fail_in(err, "spill file %s", path);
        if (own) {
            (void)unlink(partial);
        }
    }
    output_close(&writer.output);
    free(writer.raw);
    free(writer.packed);
    free(writer.index);
    free(writer.table);
    return err;
}
