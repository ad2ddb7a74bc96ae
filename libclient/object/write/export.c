/* Objects through pipes and files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/sized.h"
#include "base/text/buf.h"
#include "granary/stream.h"
#include "object/client.h"
#include "object/write/portable.h"

/* What a header promises is believed so far; the rest is asked for as it comes. */
#define HINT_MOST ((uint64_t)8 << 20)

/* ---- export ---- */

static granary_err
write_fd(void *context, const void *bytes, size_t size)
{
    return gr_write_all(*(const int *)context, bytes, size);
}

granary_err
granary_object_export(granary_client *client, granary_id id, int fd, int timeout_ms)
{
    const struct portable_sink sink = {.write = write_fd, .context = &fd};
    struct portable_header header = {.chunk_size = PORTABLE_CHUNK_BYTES};
    granary_view view;
    granary_err err = granary_object_get(client, id, timeout_ms, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    header.id = id;
    header.data_size = view.data_size;
    header.meta_size = view.meta_size;
    err = portable_write(&sink, &header, view.data, view.meta);
    granary_object_release(client, &view);
    return err == GRANARY_OK ? GRANARY_OK : gr_fail_in(err, "export of object %s", id_text(id));
}

/* ---- import ---- */

struct import {
    granary_client *client;
    int fd;
    const granary_id *wanted; /* NULL: the id it had */
    uint64_t size_hint;       /* of somebody who is trusted, unlike the header */
    const granary_object_options *options;
    granary_id id;
    granary_writer *writer;
    struct gr_buf meta;
};

static granary_err
read_fd(void *context, void *to, size_t size, size_t *ret_size)
{
    const struct import *import = context;
    size_t done = 0;

    while (done < size) {
        ssize_t n = read(import->fd, (char *)to + done, size - done);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == ECONNRESET) { /* of a socket to a store it would mean that nobody is there */
            return gr_fail(GRANARY_EIO, "read: the other end of the connection is gone");
        }
        if (n < 0) {
            return gr_fail_errno("read");
        }
        if (n == 0) {
            break;
        }
        done += (size_t)n;
    }
    *ret_size = done;
    return GRANARY_OK;
}

static granary_err
import_begin(void *context, const struct portable_header *header)
{
    struct import *import = context;
    uint64_t most = import->size_hint > HINT_MOST ? import->size_hint : HINT_MOST;
    uint64_t hint = header->data_size < most ? header->data_size : most;

    import->id = import->wanted == NULL ? header->id : *import->wanted;
    return granary_writer_open(import->client, import->id, hint, import->options, &import->writer);
}

static granary_err
import_place(void *context, bool meta, uint32_t size, void **ret_at)
{
    struct import *import = context;

    if (!meta) {
        return granary_writer_reserve(import->writer, size, ret_at);
    }
    *ret_at = gr_buf_grow(&import->meta, size);
    return *ret_at == NULL ? gr_fail(GRANARY_ENOMEM, "no memory for metadata") : GRANARY_OK;
}

granary_err
granary_object_import_with_sized(granary_client *client, int fd, const granary_id *id, uint64_t size_hint,
                                 const granary_object_options *theirs, granary_id *ret_id, size_t options_size)
{
    granary_object_options options;
    struct import import = {.client = client, .fd = fd, .wanted = id, .size_hint = size_hint, .options = &options};
    const struct portable_source source = {
        .read = read_fd, .begin = import_begin, .place = import_place, .context = &import};
    granary_err err = gr_client_check(client);

    if (err == GRANARY_OK) {
        err = gr_sized_take(&options, sizeof options, theirs, options_size);
    }
    if (err == GRANARY_OK) {
        err = portable_read(&source);
    }
    if (err == GRANARY_OK) {
        err = granary_writer_seal(import.writer, import.meta.bytes, import.meta.size);
    } else {
        granary_writer_abort(import.writer);
    }
    gr_buf_free(&import.meta);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "import");
    }
    if (ret_id != NULL) {
        *ret_id = import.id;
    }
    return GRANARY_OK;
}

granary_err
granary_object_import(granary_client *client, int fd, const granary_id *id, granary_id *ret_id)
{
    return granary_object_import_with(client, fd, id, 0, NULL, ret_id);
}
