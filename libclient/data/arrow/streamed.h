/* Arrow's streaming format on its way to a file: the same messages, and behind them where they are. */
#ifndef DATA_ARROW_STREAMED_H
#define DATA_ARROW_STREAMED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text/buf.h"
#include "granary/types.h"

/* As many bytes as are asked for, or fewer at the end. to NULL: they are passed over. */
typedef granary_err gr_streamed_read(void *source, void *to, size_t size, size_t *ret_got);
typedef granary_err gr_streamed_write(void *target, const void *bytes, size_t size);

/* Whether bytes begin like a stream. */
bool gr_arrow_is_streamed(const void *bytes, size_t size);

/*
 * Copy a stream, of which `size` bytes were read already, as an Arrow file.
 *
 * Errors  EINVAL it ends in the midst of a message, or is none · EUNSUPPORTED a dictionary that is replaced · ENOMEM · as
 *         reading and writing
 */
granary_err gr_arrow_streamed(const void *bytes, size_t size, gr_streamed_read *read, void *source,
                              gr_streamed_write *write, void *target);

/*
 * The footer that a file of the stream's messages would have, with the places they have in the stream. No batch is read: it
 * is passed over.
 *
 * Errors  as gr_arrow_streamed()
 */
granary_err gr_arrow_stream_footer(gr_streamed_read *read, void *source, struct gr_buf *ret_footer);

#endif
