/* marked: frame objects that are not rows of somebody's, but tell of a table. The name of their first column says so. */
#ifndef MUTABLE_MARKED_H
#define MUTABLE_MARKED_H

#include "data/frame.h"

/* The columns as a frame, which borrows them, behind one of that name. Errors: as gr_caller_frame() */
granary_err
marked_frame(const char *mark, const granary_column *columns, size_t count, int64_t rows, granary_frame **ret_frame);

/* A frame, marked or not, as an object. Errors: as granary_object_create_with(), granary_object_seal() */
granary_err
frame_store(granary_client *client, granary_id id, const granary_frame *frame, const granary_object_options *options);

/*
 * The columns behind the mark; view is to be released when the frame is not used any more.
 *
 * Errors  ETYPE the object has no such mark · as granary_object_get()
 */
granary_err
marked_get(granary_client *client, granary_id id, const char *mark, granary_view *ret_view, granary_frame **ret_frame);

/* The columns behind a mark, borrowed. Errors: ECORRUPT there are none · ENOMEM */
granary_err marked_columns(const granary_frame *all, granary_frame **ret_frame);

/* Whether an object has such a mark, without bringing it back from disk. */
bool marked_is(granary_client *client, granary_id id, const char *mark);

#endif
