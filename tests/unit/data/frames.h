/* Frames for tests, made from plain arrays. */
#ifndef TEST_FRAMES_H
#define TEST_FRAMES_H

#include "data/frame.h"

/* A column of rows values; there: one char a row, '1' a value, '0' a null; NULL: all there. Failures end the test. */
struct gr_column ints(const int64_t *values, const char *there, int64_t rows);
struct gr_column reals(const double *values, const char *there, int64_t rows);
struct gr_column texts(const char *const *values, const char *there, int64_t rows);
struct gr_column bools(const char *values, const char *there, int64_t rows); /* values: '1' or '0' a row */
/* DATE, INT32, TIMESTAMP, FLOAT32, ... from integers. */
struct gr_column others(granary_dtype dtype, const int64_t *values, const char *there, int64_t rows);

/* count frames' worth of columns with names; *takes* the columns. */
granary_frame *frame_of(size_t count, const char *const *names, struct gr_column *columns);
/* Every dtype, five rows, nulls in most columns, odd names. */
granary_frame *frame_of_everything(void);

/* Same names, dtypes, nulls and values. */
void assert_frames_equal(const granary_frame *a, const granary_frame *b);
/* An integer-like value of any dtype but text. */
int64_t int_at(const granary_frame *frame, const char *name, int64_t row);
/* A value as gr_value_format() has it, within a static buffer. */
const char *text_at(const granary_frame *frame, const char *name, int64_t row);

/* The object of a frame, in 64-byte aligned memory. */
struct object {
    void *data;
    uint64_t data_size;
    void *meta;
    uint64_t meta_size;
};
struct object object_of(const granary_frame *frame);
void object_free(struct object *object);

#endif
