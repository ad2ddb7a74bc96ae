/* Parts of objects: in memory a view of the part; of a spilled one the slice of it that the store brings back. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "object/read/probe.h"

/* A slice may be gone again before it is leased, when memory is short. */
#define SLICE_TRIES 16

/* A part of an object: of its data, or of its metadata. */
struct part {
    uint64_t offset;
    uint64_t length;
    bool meta;
};

static granary_err
part_check(const struct part *part, granary_id id, uint64_t data_size, uint64_t meta_size)
{
    uint64_t size = part->meta ? meta_size : data_size;

    if (part->offset > size || part->length > size - part->offset) {
        return gr_fail(GRANARY_EINVAL, "object %s: bytes %llu to %llu are not within its %llu bytes of %s", id_text(id),
                       (unsigned long long)part->offset, (unsigned long long)(part->offset + part->length),
                       (unsigned long long)size, part->meta ? "metadata" : "data");
    }
    return GRANARY_OK;
}

/* A view of the part of what is leased already. On failure the lease is ended. */
static granary_err
narrow(granary_client *client, const struct part *part, granary_view *view)
{
    granary_err err = part_check(part, view->id, view->data_size, view->meta_size);

    if (err != GRANARY_OK) {
        granary_object_release(client, view);
        return err;
    }
    view->data = (const char *)(part->meta && view->meta != NULL ? view->meta : view->data) + part->offset;
    view->data_size = part->length;
    view->meta = NULL;
    view->meta_size = 0;
    return GRANARY_OK;
}

/*
 * The part of an object that is spilled, from a slice. Errors: ESTATE it is not spilled any more, or the slice is gone
 * · as get
 */
static granary_err
get_slice(granary_client *client, const struct slot_copy *object, const struct part *part, granary_view *ret_view)
{
    granary_id id = gr_id_from_words(object->id[0], object->id[1]);
    uint64_t at = (part->meta ? GR_ALIGNED(object->data_size) : 0) + part->offset;
    uint64_t skip = part->length == 0 && at > 0; /* nothing of it is wanted: any byte will do */
    struct gr_slice request = {.offset = at - skip, .length = part->length == 0 ? 1 : part->length};
    struct gr_slice_reply reply;
    granary_view view;
    granary_id slice;
    granary_err err;

    memcpy(request.id, id.bytes, sizeof request.id);
    err = socket_request(client, GR_STORE_SLICE, &request, sizeof request, &reply);
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(slice.bytes, reply.id, sizeof slice.bytes);
    err = granary_object_get(client, slice, 0, &view);
    if (err != GRANARY_OK) {
        return err == GRANARY_ENOENT ? GRANARY_ESTATE : gr_fail_in(err, "a part of object %s", id_text(id));
    }
    if (reply.offset > request.offset || request.offset - reply.offset > view.data_size ||
        request.length > view.data_size - (request.offset - reply.offset)) {
        granary_object_release(client, &view);
        return gr_fail(GRANARY_EPROTO, "object %s: the store gave another part than was asked for", id_text(id));
    }
    view.id = id;
    view.data = (const char *)view.data + (request.offset - reply.offset) + skip;
    view.data_size = part->length;
    view.meta = NULL;
    view.meta_size = 0;
    *ret_view = view;
    return GRANARY_OK;
}

static granary_err
get_part(granary_client *client, granary_id id, const struct part *part, int timeout_ms, granary_view *ret_view)
{
    granary_err err = gr_client_check_wait(client, timeout_ms);
    granary_view view;

    for (unsigned tries = 0; err == GRANARY_OK && tries < SLICE_TRIES; tries++) {
        struct slot_copy copy;

        if (!slot_find(client, id, &copy) || GR_WORD_STATE(copy.word) != GR_SLOT_SPILLED ||
            copy.data_size == 0) { /* nothing to cut, and it may be an error */
            break;
        }
        err = part_check(part, id, copy.data_size, (uint32_t)copy.where_meta);
        if (err == GRANARY_OK) {
            err = get_slice(client, &copy, part, ret_view);
            if (err == GRANARY_OK) {
                return GRANARY_OK;
            }
            /* Not spilled any more, or not the same object, or gone: the index knows which. */
            err = err == GRANARY_ESTATE || err == GRANARY_ENOENT ? GRANARY_OK : err;
        }
    }
    if (err == GRANARY_OK) {
        err = granary_object_get(client, id, timeout_ms, &view);
    }
    if (err == GRANARY_OK) {
        err = narrow(client, part, &view);
    }
    if (err == GRANARY_OK) {
        *ret_view = view;
    }
    return err;
}

granary_err
granary_object_get_range(granary_client *client, granary_id id, uint64_t offset, uint64_t length, int timeout_ms,
                         granary_view *ret_view)
{
    return get_part(client, id, &(struct part){.offset = offset, .length = length}, timeout_ms, ret_view);
}

granary_err
granary_object_get_meta_range(granary_client *client, granary_id id, uint64_t offset, uint64_t length, int timeout_ms,
                              granary_view *ret_view)
{
    return get_part(client, id, &(struct part){.offset = offset, .length = length, .meta = true}, timeout_ms, ret_view);
}
