/*
 * Frames given out: lease.c keeps what arrays rest on, array.c makes arrays, shape.c schemas and the columns that all
 * frames of a stream have, request.c as a consumer asks for them. stream.c is the stream, source.c where its frames come from.
 */
#ifndef ARROW_OUT_OUT_H
#define ARROW_OUT_OUT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "data/frame.h"
#include "granary/arrow.h"

/* ---- lease.c ---- */

/*
 * What the arrays of a frame rest on, shared by all of them: a consumer may move a child out and release the others
 * first. Each array has a reference.
 */
struct out_lease {
    atomic_size_t references;
    granary_client *client; /* held; NULL: the frame rests on nothing */
    granary_view view;
    granary_frame *frame; /* what is given out */
    granary_frame *base;  /* what that borrows from; NULL: nothing */
};

/* *Takes* the frames, and the view, of which the client may be NULL; one reference is the caller's. Errors: ENOMEM, and
 * nothing is taken */
granary_err out_lease_create(granary_client *client, const granary_view *view, granary_frame *frame,
                             granary_frame *base, struct out_lease **ret_lease);
void out_lease_ref(struct out_lease *lease);
/* On any thread; the last one gives all of it back. */
void out_lease_unref(struct out_lease *lease);

/* ---- shape.c ---- */

/* A column as a schema tells of it. */
struct out_field {
    char *name;
    granary_dtype dtype; /* as frames have it */
    granary_dtype given; /* as it is given out */
    bool is_encoded;     /* strings with a dictionary */
};
struct out_shape {
    struct out_field *fields; /* NULL: not known yet */
    size_t count;
};

/* Errors: ENOMEM */
granary_err out_shape_of(const granary_frame *frame, struct out_shape *ret_shape);
void out_shape_free(struct out_shape *shape);
/* A type that is written without parameters. False: it is none of ours */
bool out_dtype_of(const char *format, granary_dtype *ret_dtype);
/* Errors: ENOMEM */
granary_err out_schema(const struct out_shape *shape, struct ArrowSchema *ret_schema);

/*
 * A frame with the columns of a shape.
 *
 * ret_frame  NULL: it has them. Else another one, which borrows from it
 * Errors     ETYPE other columns · EFULL over 2 GiB of text · ENOMEM
 */
granary_err out_conform(const struct out_shape *shape, const granary_frame *frame, granary_frame **ret_frame);

/* ---- request.c ---- */

/* Let the shape be as a consumer asks for it, as far as that is possible. Errors: EINVAL other columns */
granary_err out_request(struct out_shape *shape, const struct ArrowSchema *asked);
/* Numbers of another type, which out_request() has let in. Errors: ENOMEM */
granary_err out_widen(const granary_column *column, granary_dtype to, struct gr_column *ret_column);

/* ---- array.c ---- */

/* The lease's frame as an array. Errors: ENOMEM */
granary_err out_array(struct out_lease *lease, struct ArrowArray *ret_array);

/* ---- source.c ---- */

/* Where a stream's frames come from: some objects, or a target of a graph. */
struct out_source {
    granary_client *client; /* held */
    granary_id *ids;        /* count of them */
    size_t count;
    size_t at;
    granary_id held; /* a reference of the client's keeps it while ids are asked for */
    bool is_held;
    char *key; /* of a graph; NULL: the ids */
    char *target;
    uint64_t cursor;
};

/* The next object, leased. *ret_end: there is none, and no view. Errors: as granary_graph_next(), granary_object_get() */
granary_err out_source_next(struct out_source *source, granary_view *ret_view, bool *ret_end);
void out_source_end(struct out_source *source);

/* ---- stream.c ---- */

/* *Takes* the source, also when it fails. Errors: ENOMEM */
granary_err out_stream(struct out_source *source, struct ArrowArrayStream *ret_stream);

#endif
