/*
 * A file's footer repeats the schema. Flatbuffers refer to what follows them, from where they stand; so the schema's message
 * is put into the footer as it came.
 */
#include "data/arrow/streamed.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "data/arrow/format.h"
#include "data/layout/flat.h"

enum { BLOCK = 64 << 10, METADATA_MOST = 64 << 20, LIST_DICTIONARIES = 0, LIST_BATCHES = 1 };

struct streamed {
    const char *begun; /* bytes that were read already */
    size_t begun_size;
    gr_streamed_read *read;
    void *source;
    gr_streamed_write *write; /* NULL: only the footer is wanted */
    void *target;
    uint64_t at;          /* bytes that were written */
    struct gr_buf schema; /* the message */
    size_t schema_table;
    uint16_t version;
    struct gr_buf blocks[2];
    struct gr_buf metadata;
    char *block;
};

bool
gr_arrow_is_streamed(const void *bytes, size_t size)
{
    static const unsigned char mark[4] = {0xff, 0xff, 0xff, 0xff};

    return size >= 8 && memcmp(bytes, mark, 4) == 0;
}

static granary_err
fail_cut(void)
{
    return gr_fail(GRANARY_EINVAL, "the Arrow stream ends in the midst of a message: its writer has not finished");
}

/* *ret_end: there is nothing more, which may be at a message's beginning. */
static granary_err
take(struct streamed *s, void *to, size_t size, bool *ret_end)
{
    size_t had = size < s->begun_size ? size : s->begun_size;
    size_t got = 0;
    granary_err err = GRANARY_OK;

    if (had > 0) {
        memcpy(to, s->begun, had);
        s->begun += had;
        s->begun_size -= had;
    }
    if (had < size) {
        err = s->read(s->source, to == NULL ? NULL : (char *)to + had, size - had, &got);
    }
    *ret_end = had + got == 0;
    return err == GRANARY_OK && !*ret_end && had + got < size ? fail_cut() : err;
}

static granary_err
put(struct streamed *s, const void *bytes, size_t size)
{
    s->at += size;
    return s->write == NULL ? GRANARY_OK : s->write(s->target, bytes, size);
}

static granary_err
copy_body(struct streamed *s, uint64_t size)
{
    granary_err err = GRANARY_OK;
    bool end = false;

    if (s->write == NULL && size > 0) {
        s->at += size;
        err = take(s, NULL, (size_t)size, &end);
        return err == GRANARY_OK && end ? fail_cut() : err;
    }
    while (size > 0 && err == GRANARY_OK) {
        size_t now = size < BLOCK ? (size_t)size : BLOCK;

        err = take(s, s->block, now, &end);
        err = err == GRANARY_OK && end ? fail_cut() : err;
        err = err == GRANARY_OK ? put(s, s->block, now) : err;
        size -= now;
    }
    return err;
}

/* What a message is. metadata: 8 bytes before it is where it stands in the file */
static granary_err
note_message(struct streamed *s, uint64_t *ret_body)
{
    struct flat_in in = {.bytes = (const uint8_t *)s->metadata.bytes, .size = s->metadata.size};
    struct flat_table root = flat_root(&in);
    uint64_t kind = flat_uint(&in, root, MESSAGE_HEADER_TYPE, 1, 0);
    struct flat_table header = flat_table(&in, root, MESSAGE_HEADER);
    struct arrow_block block = {.offset = (int64_t)s->at - 8 - (int64_t)s->metadata.size,
                                .metadata_length = (int32_t)(s->metadata.size + 8)};
    bool is_batch = kind == HEADER_BATCH;

    *ret_body = flat_uint(&in, root, MESSAGE_BODY_LENGTH, 8, 0);
    block.body_length = (int64_t)*ret_body;
    if (in.bad || header.at == 0 || *ret_body > INT64_MAX / 2 || (kind == HEADER_SCHEMA) != (s->schema.size == 0)) {
        return gr_fail(GRANARY_EINVAL, "byte %llu of the Arrow stream: a message that is none",
                       (unsigned long long)block.offset);
    }
    if (kind == HEADER_SCHEMA) {
        s->version = (uint16_t)flat_uint(&in, root, MESSAGE_VERSION, 2, 0);
        s->schema_table = header.at;
        gr_buf_add(&s->schema, s->metadata.bytes, s->metadata.size);
        return GRANARY_OK;
    }
    if (kind != HEADER_DICTIONARY && !is_batch) {
        return gr_fail(GRANARY_EUNSUPPORTED, "the Arrow stream has messages that are no rows");
    }
    if (!is_batch && s->blocks[LIST_BATCHES].size > 0 && flat_uint(&in, header, DICTIONARY_BATCH_IS_DELTA, 1, 0) == 0) {
        return gr_fail(GRANARY_EUNSUPPORTED, "the Arrow stream replaces a dictionary: let its writer make one of all "
                                             "values, or write text");
    }
    gr_buf_add(&s->blocks[is_batch ? LIST_BATCHES : LIST_DICTIONARIES], &block, sizeof block);
    return GRANARY_OK;
}

/* One message. *ret_end: it was the last. */
static granary_err
copy_message(struct streamed *s, bool *ret_end)
{
    uint32_t head[2] = {0};
    uint64_t body = 0;
    bool end = false;
    granary_err err = take(s, head, sizeof head, ret_end);

    if (err != GRANARY_OK || *ret_end) {
        return err;
    }
    if (head[0] != ARROW_CONTINUATION || head[1] > METADATA_MOST || head[1] % 8 != 0) {
        return gr_fail(GRANARY_EINVAL, "byte %llu of the Arrow stream: no message begins there",
                       (unsigned long long)(s->at - 8));
    }
    *ret_end = head[1] == 0;
    if (*ret_end) {
        return GRANARY_OK;
    }
    s->metadata.size = 0;
    if (gr_buf_grow(&s->metadata, head[1]) == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for an Arrow message of %u bytes", head[1]);
    }
    err = take(s, s->metadata.bytes, head[1], &end);
    err = err == GRANARY_OK && end ? fail_cut() : err;
    err = err == GRANARY_OK ? put(s, head, sizeof head) : err;
    err = err == GRANARY_OK ? put(s, s->metadata.bytes, s->metadata.size) : err;
    err = err == GRANARY_OK ? note_message(s, &body) : err;
    return err == GRANARY_OK ? copy_body(s, body) : err;
}

static void
add_u32(struct gr_buf *out, size_t value)
{
    const uint32_t number = (uint32_t)value;

    gr_buf_add(out, &number, sizeof number);
}

/* Table at 16, its vtable at 4; vectors of blocks, and the schema's message, at multiples of 8. */
static void
add_footer(const struct streamed *s, struct gr_buf *out)
{
    static const uint16_t vtable[6] = {12, 20, 4, 8, 12, 16};
    const size_t dictionaries = 48;
    const size_t batches = dictionaries + s->blocks[LIST_DICTIONARIES].size + 8;
    const size_t schema = batches + s->blocks[LIST_BATCHES].size;

    add_u32(out, 16);
    gr_buf_add(out, vtable, sizeof vtable);
    add_u32(out, 12);
    add_u32(out, s->version);
    add_u32(out, schema + s->schema_table - 24);
    add_u32(out, dictionaries - 4 - 28);
    add_u32(out, batches - 4 - 32);
    add_u32(out, 0);
    add_u32(out, 0);
    add_u32(out, s->blocks[LIST_DICTIONARIES].size / sizeof(struct arrow_block));
    gr_buf_add(out, s->blocks[LIST_DICTIONARIES].bytes, s->blocks[LIST_DICTIONARIES].size);
    add_u32(out, 0);
    add_u32(out, s->blocks[LIST_BATCHES].size / sizeof(struct arrow_block));
    gr_buf_add(out, s->blocks[LIST_BATCHES].bytes, s->blocks[LIST_BATCHES].size);
    gr_buf_add(out, s->schema.bytes, s->schema.size);
}

static granary_err
put_footer(struct streamed *s)
{
    const uint32_t end[2] = {ARROW_CONTINUATION, 0};
    struct gr_buf out = {0};
    granary_err err;

    add_footer(s, &out);
    add_u32(&out, out.size);
    gr_buf_add(&out, ARROW_MAGIC, ARROW_MAGIC_SIZE);
    err = gr_buf_ok(&out) ? put(s, end, sizeof end) : gr_fail(GRANARY_ENOMEM, "out of memory");
    err = err == GRANARY_OK ? put(s, out.bytes, out.size) : err;
    gr_buf_free(&out);
    return err;
}

static granary_err
copy_messages(struct streamed *s)
{
    bool end = false;
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && !end) {
        err = copy_message(s, &end);
        if (err == GRANARY_OK && !(gr_buf_ok(&s->schema) && gr_buf_ok(&s->blocks[LIST_DICTIONARIES]) &&
                                   gr_buf_ok(&s->blocks[LIST_BATCHES]))) {
            err = gr_fail(GRANARY_ENOMEM, "out of memory");
        }
    }
    return err == GRANARY_OK && s->schema.size == 0 ? gr_fail(GRANARY_EINVAL, "the Arrow stream has no schema") : err;
}

static void
streamed_free(struct streamed *s)
{
    gr_buf_free(&s->schema);
    gr_buf_free(&s->metadata);
    gr_buf_free(&s->blocks[LIST_DICTIONARIES]);
    gr_buf_free(&s->blocks[LIST_BATCHES]);
    free(s->block);
}

granary_err
gr_arrow_streamed(const void *bytes, size_t size, gr_streamed_read *read, void *source, gr_streamed_write *write,
                  void *target)
{
    struct streamed s = {.begun = bytes,
                         .begun_size = size,
                         .read = read,
                         .source = source,
                         .write = write,
                         .target = target,
                         .block = malloc(BLOCK)};
    granary_err err = s.block == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : put(&s, ARROW_MAGIC "\0", 8);

    err = err == GRANARY_OK ? copy_messages(&s) : err;
    err = err == GRANARY_OK ? put_footer(&s) : err;
    streamed_free(&s);
    return err;
}

granary_err
gr_arrow_stream_footer(gr_streamed_read *read, void *source, struct gr_buf *ret_footer)
{
    struct streamed s = {.read = read, .source = source};
    granary_err err = copy_messages(&s);

    if (err == GRANARY_OK) {
        add_footer(&s, ret_footer);
        err = gr_buf_ok(ret_footer) ? err : gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    streamed_free(&s);
    return err;
}
