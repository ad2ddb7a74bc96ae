/* Another library that gives Arrow arrays: each buffer is a block of its own, of the size that is needed, for sanitizers. */
#ifndef TEST_PRODUCER_H
#define TEST_PRODUCER_H

#include "granary/arrow.h"

/* Schemas, arrays and streams that are not released yet. */
int produced_alive(void);

/* A schema with so many children, which are to be produced into children[i]. format and name are copied. */
void produce_schema(struct ArrowSchema *schema, const char *format, const char *name, size_t children);
/* ... with a dictionary of values. */
void produce_coded_schema(struct ArrowSchema *schema, const char *format, const char *name, const char *values);

/* An array with room for buffers, which are NULL, and children. */
void produce_array(struct ArrowArray *array, int64_t length, int64_t offset, int64_t null_count, size_t buffers,
                   size_t children);
/* Copy bytes as a buffer; size SIZE_MAX: it stays NULL. Returns the copy. */
void *produce_buffer(struct ArrowArray *array, size_t number, const void *bytes, size_t size);
/* A bitmap as a buffer: a char for each bit from 0 on, '1' or '0'. */
void produce_bits(struct ArrowArray *array, size_t number, const char *bits);
/* An array's dictionary, to be produced into array->dictionary. */
void produce_dictionary(struct ArrowArray *array);

/* A record batch of one column: the parent's child 0 is produced by the caller. */
void
produce_batch(struct ArrowSchema *schema, struct ArrowArray *array, const char *format, const char *name, int64_t rows);

/* A stream of record batches of one int64 column "n": sizes[i] rows each, 0, 1, 2, ... through all of them. At batch
 * fail_at it fails with errno `number` and the message "the disk is gone". */
void produce_stream(struct ArrowArrayStream *stream, const int64_t *sizes, size_t count, size_t fail_at, int number);

#endif
