/* What arrays rest on; and frames given out one by one. */
#include "arrow/out/out.h"

#include <stdlib.h>

#include "base/error.h"
#include "object/object.h"

granary_err
out_lease_create(granary_client *client, const granary_view *view, granary_frame *frame, granary_frame *base,
                 struct out_lease **ret_lease)
{
    struct out_lease *lease = calloc(1, sizeof *lease);

    if (lease == NULL) {
        return gr_no_memory("an Arrow array");
    }
    atomic_init(&lease->references, 1);
    lease->frame = frame;
    lease->base = base;
    if (client != NULL) {
        gr_client_hold(client);
        lease->client = client;
        lease->view = *view;
    }
    *ret_lease = lease;
    return GRANARY_OK;
}

void
out_lease_ref(struct out_lease *lease)
{
    atomic_fetch_add_explicit(&lease->references, 1, memory_order_relaxed);
}

void
out_lease_unref(struct out_lease *lease)
{
    /* Release what this thread did with it, acquire what the others did, before it goes. */
    if (atomic_fetch_sub_explicit(&lease->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    gr_frame_destroy(lease->frame);
    gr_frame_destroy(lease->base);
    if (lease->client != NULL) {
        granary_object_release(lease->client, &lease->view); /* nothing happens in a forked child */
        gr_client_let_go(lease->client);
    }
    free(lease);
}

/* ---- a frame ---- */

/* *Takes* the frame and the view when it succeeds. */
static granary_err export(granary_client *client, const granary_view *view, granary_frame *frame,
                          struct ArrowSchema *ret_schema, struct ArrowArray *ret_array)
{
    struct out_shape shape = {.count = 0};
    struct ArrowSchema schema = {.release = NULL};
    struct out_lease *lease = NULL;
    granary_err err = gr_frame_check(frame);

    err = err == GRANARY_OK ? out_shape_of(frame, &shape) : err;
    err = err == GRANARY_OK && ret_schema != NULL ? out_schema(&shape, &schema) : err;
    out_shape_free(&shape);
    err = err == GRANARY_OK ? out_lease_create(client, view, frame, NULL, &lease) : err;
    if (err == GRANARY_OK) {
        err = out_array(lease, ret_array);
        if (err != GRANARY_OK) { /* the frame and the view stay the caller's */
            lease->frame = NULL;
            lease->view = (granary_view){.data = NULL};
        }
        out_lease_unref(lease);
    }
    if (err != GRANARY_OK) {
        if (schema.release != NULL) {
            schema.release(&schema);
        }
        return err;
    }
    if (ret_schema != NULL) {
        *ret_schema = schema;
    }
    return GRANARY_OK;
}

granary_err
granary_frame_export(granary_client *client, granary_view *view, struct ArrowSchema *ret_schema,
                     struct ArrowArray *ret_array)
{
    granary_frame *frame = NULL;
    granary_err err = gr_client_check(client);

    if (err == GRANARY_OK && view->data == NULL) {
        err = gr_fail(GRANARY_EINVAL, "the view is empty: get the object first");
    }
    err = err == GRANARY_OK ? granary_frame_open(view, &frame) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    err = export(client, view, frame, ret_schema, ret_array);
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *view = (granary_view){.data = NULL};
    return GRANARY_OK;
}

granary_err
granary_frame_export_owned(granary_frame *frame, struct ArrowSchema *ret_schema, struct ArrowArray *ret_array)
{
    return export(NULL, NULL, frame, ret_schema, ret_array);
}
