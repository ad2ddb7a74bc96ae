/* Exported objects: records with a checksum that covers all before it, read back as hostile. */
#include "object/write/portable.h"

#include <endian.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "contract/shm.h"

#define VERSION    1u
#define END_NUMBER UINT32_MAX

static const char magic[8] = {'G', 'R', 'N', 'O', 'B', 'J', '\r', '\n'};

/* Both in little-endian byte order. */
struct header {
    char magic[8];
    uint32_t version;
    uint32_t chunk_size;
    unsigned char id[16];
    uint64_t data_size;
    uint64_t meta_size;
    uint64_t reserved;
    uint64_t hash; /* of the bytes before */
};
_Static_assert(sizeof(struct header) == PORTABLE_HEADER_BYTES, "part of the format");

struct record {
    uint32_t number; /* of the chunk; END_NUMBER: the end */
    uint32_t size;   /* bytes that follow */
    uint64_t hash;   /* of them; of the end: see chain() */
};
_Static_assert(sizeof(struct record) == PORTABLE_RECORD_BYTES, "part of the format");

/* What all hashes so far make together. */
static uint64_t
chain(uint64_t all, uint64_t hash)
{
    uint64_t both[2] = {htole64(all), htole64(hash)};

    return gr_hash64(both, sizeof both);
}

/* ---- writing ---- */

static granary_err
write_record(const struct portable_sink *sink, uint32_t number, uint32_t size, uint64_t hash)
{
    struct record record = {htole32(number), htole32(size), htole64(hash)};

    return sink->write(sink->context, &record, sizeof record);
}

/* The chunks of data or metadata. */
static granary_err
write_chunks(const struct portable_sink *sink, uint32_t chunk_size, const char *bytes, uint64_t size, uint32_t *number,
             uint64_t *all)
{
    granary_err err = GRANARY_OK;

    for (uint64_t at = 0; at < size && err == GRANARY_OK; at += chunk_size) {
        uint32_t part = size - at < chunk_size ? (uint32_t)(size - at) : chunk_size;
        uint64_t hash = gr_hash64(bytes + at, part);

        err = write_record(sink, (*number)++, part, hash);
        if (err == GRANARY_OK) {
            err = sink->write(sink->context, bytes + at, part);
        }
        *all = chain(*all, hash);
    }
    return err;
}

granary_err
portable_write(const struct portable_sink *sink, const struct portable_header *header, const void *data,
               const void *meta)
{
    struct header raw = {
        .version = htole32(VERSION),
        .chunk_size = htole32(header->chunk_size),
        .data_size = htole64(header->data_size),
        .meta_size = htole64(header->meta_size),
    };
    uint32_t number = 0;
    uint64_t all;
    granary_err err;

    memcpy(raw.magic, magic, sizeof raw.magic);
    memcpy(raw.id, header->id.bytes, sizeof raw.id);
    all = gr_hash64(&raw, offsetof(struct header, hash));
    raw.hash = htole64(all);
    err = sink->write(sink->context, &raw, sizeof raw);
    if (err == GRANARY_OK) {
        err = write_chunks(sink, header->chunk_size, data, header->data_size, &number, &all);
    }
    if (err == GRANARY_OK) {
        err = write_chunks(sink, header->chunk_size, meta, header->meta_size, &number, &all);
    }
    return err == GRANARY_OK ? write_record(sink, END_NUMBER, 0, all) : err;
}

/* ---- reading ---- */

/* All of it, or ECORRUPT. what: for the message. */
static granary_err
read_all(const struct portable_source *source, void *to, size_t size, const char *what, uint32_t number)
{
    size_t got = 0;
    granary_err err = source->read(source->context, to, size, &got);

    if (err == GRANARY_OK && got < size) {
        err = gr_fail(GRANARY_ECORRUPT, "%s %u ends after %zu of %zu bytes", what, number, got, size);
    }
    return err;
}

static granary_err
read_header(const struct portable_source *source, struct portable_header *ret_header, uint64_t *ret_hash)
{
    struct header raw;
    size_t got = 0;
    granary_err err = source->read(source->context, &raw, sizeof raw, &got);

    if (err != GRANARY_OK) {
        return err;
    }
    if (got == 0) {
        return gr_fail(GRANARY_ENOENT, "no more objects");
    }
    if (got < sizeof raw) {
        return gr_fail(GRANARY_ECORRUPT, "the header ends after %zu bytes", got);
    }
    if (memcmp(raw.magic, magic, sizeof magic) != 0) {
        return gr_fail(GRANARY_ECORRUPT, "the header is not that of an exported object");
    }
    if (le32toh(raw.version) != VERSION) { /* what else is in it, and where its checksum, that version knows */
        return gr_fail(GRANARY_EVERSION,
                       "exported in version %u of the format, this granary reads %u: import it with the granary that "
                       "exported it",
                       le32toh(raw.version), VERSION);
    }
    *ret_hash = gr_hash64(&raw, offsetof(struct header, hash));
    if (le64toh(raw.hash) != *ret_hash) {
        return gr_fail(GRANARY_ECORRUPT, "the header's checksum is wrong");
    }
    ret_header->chunk_size = le32toh(raw.chunk_size);
    ret_header->data_size = le64toh(raw.data_size);
    ret_header->meta_size = le64toh(raw.meta_size);
    memcpy(ret_header->id.bytes, raw.id, sizeof raw.id);
    if (ret_header->chunk_size < PORTABLE_CHUNK_LEAST || ret_header->chunk_size > PORTABLE_CHUNK_MOST ||
        ret_header->data_size > GR_MAX_OBJECT || ret_header->meta_size > GR_MAX_META || gr_id_is_zero(ret_header->id)) {
        return gr_fail(GRANARY_ECORRUPT, "the header promises what no object has");
    }
    return GRANARY_OK;
}

static granary_err
read_record(const struct portable_source *source, uint32_t number, uint32_t size, uint64_t *ret_hash)
{
    struct record record;
    granary_err err = read_all(source, &record, sizeof record, "the head of chunk", number);

    if (err != GRANARY_OK) {
        return err;
    }
    if (le32toh(record.number) != number || le32toh(record.size) != size) {
        return gr_fail(GRANARY_ECORRUPT, "chunk %u: its head says chunk %u of %u bytes, not %u", number,
                       le32toh(record.number), le32toh(record.size), size);
    }
    *ret_hash = le64toh(record.hash);
    return GRANARY_OK;
}

/* The chunks of data or metadata. */
static granary_err
read_chunks(const struct portable_source *source, uint32_t chunk_size, bool meta, uint64_t size, uint32_t *number,
            uint64_t *all)
{
    granary_err err = GRANARY_OK;

    for (uint64_t at = 0; at < size && err == GRANARY_OK; at += chunk_size, (*number)++) {
        uint32_t part = size - at < chunk_size ? (uint32_t)(size - at) : chunk_size;
        uint64_t hash = 0;
        void *to;

        if ((err = read_record(source, *number, part, &hash)) == GRANARY_OK &&
            (err = source->place(source->context, meta, part, &to)) == GRANARY_OK &&
            (err = read_all(source, to, part, "chunk", *number)) == GRANARY_OK && gr_hash64(to, part) != hash) {
            err = gr_fail(GRANARY_ECORRUPT, "chunk %u: its checksum is wrong", *number);
        }
        *all = chain(*all, hash);
    }
    return err;
}

granary_err
portable_read(const struct portable_source *source)
{
    struct portable_header header;
    uint32_t number = 0;
    uint64_t all, hash;
    granary_err err = read_header(source, &header, &all);

    if (err == GRANARY_OK) {
        err = source->begin(source->context, &header);
    }
    if (err == GRANARY_OK) {
        err = read_chunks(source, header.chunk_size, false, header.data_size, &number, &all);
    }
    if (err == GRANARY_OK) {
        err = read_chunks(source, header.chunk_size, true, header.meta_size, &number, &all);
    }
    if (err == GRANARY_OK) {
        err = read_record(source, END_NUMBER, 0, &hash);
    }
    if (err == GRANARY_OK && hash != all) {
        err = gr_fail(GRANARY_ECORRUPT, "the end: its checksum is wrong");
    }
    return err;
}
