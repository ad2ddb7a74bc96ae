/*
 * Frames as Arrow IPC files (https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format): "ARROW1", schema
 * message, record batches, footer; buffers 64-byte aligned. Little-endian, metadata version V5. The Flatbuffers subset
 * is ours (flat.c).
 *
 * Writing: one record batch, a dictionary for each encoded column, always the same bytes for the same frame. Reading:
 * our own files in place, and other writers' uncompressed files (any number of batches; all integers, float32/64,
 * decimal128, bool, utf8, large utf8, date32/64, timestamp and duration of any unit, dictionary-encoded utf8),
 * converted where the layout differs.
 */
#ifndef DATA_ARROW_H
#define DATA_ARROW_H

#include "data/frame.h"

/* Sizes of the object that holds a frame: data is the Arrow file, meta the column directory and zone map
 * (data/directory.h). */
granary_err gr_arrow_measure(const granary_frame *frame, uint64_t *ret_data_size, uint64_t *ret_meta_size);
/* Write what was measured. */
void gr_arrow_write(const granary_frame *frame, void *data, void *meta);

/*
 * Read an Arrow file. With a directory in meta (may be NULL) nothing is parsed.
 * ret_frame borrows data, or owns what had to be converted; data must outlive it.
 * Errors: ETYPE not an Arrow file · EUNSUPPORTED names column and type · ECORRUPT gives the offset · ENOMEM
 */
granary_err
gr_arrow_read(const void *data, uint64_t data_size, const void *meta, uint64_t meta_size, granary_frame **ret_frame);

#endif
