/* What the tests of the kernels on frames share. Every function fails the running test when something is wrong. */
#ifndef TESTS_KERNEL_FRAME_TOOLS_H
#define TESTS_KERNEL_FRAME_TOOLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/kernel.h"

/* xorshift: the same numbers in every run. */
struct random {
    uint64_t state;
};
uint64_t random_next(struct random *random);
/* 0 .. below - 1 */
int64_t random_below(struct random *random, int64_t below);

/*
 * A frame from text: "name:dtype,..." and rows of cells between commas, each ended by a line feed. An empty cell is
 * null, "" an empty string. Dates and timestamps are numbers.
 */
granary_frame *frame_text(const char *columns, const char *rows);

/*
 * rows random rows: key int64 (few values), text string (few, Unicode, empty ones), number float64 (few, with NaN, both
 * zeros and infinities when wild), wide int64, real float64 (many sizes), flag bool, day date, moment timestamp,
 * row int64 (0, 1, ...: without nulls). All others have nulls.
 */
granary_frame *frame_random(uint64_t seed, int64_t rows, bool wild);

/* The frame as CSV text is this. */
void assert_frame(const granary_frame *frame, const char *csv);
/* Both frames are written as the same Arrow file. */
void assert_same_bytes(const granary_frame *a, const granary_frame *b);
/* A value as text; *gives*. null: "<null>" */
char *cell_text(const granary_frame *frame, const char *column, int64_t row);

/* A call being prepared: attributes are taken, inputs borrowed. */
struct kernel_test {
    Granary__ChunkOp op;
    Granary__Attr *attrs[8];
    struct gr_value inputs[64];
    size_t input_count;
    struct gr_value outputs[16];
    size_t output_count;                                /* 1 unless set */
    bool (*stopped)(const struct gr_kernel_call *call); /* of operators that run others; NULL: never */
    const void *stopping;
};
void kernel_test_init(struct kernel_test *test, const char *op);
void kernel_test_attr(struct kernel_test *test, Granary__Attr *attr);
/* A list of strings as one text: "a,b". */
void kernel_test_strings(struct kernel_test *test, const char *name, const char *list);
/* A mapping: entries "name=text;name=text". */
void kernel_test_map(struct kernel_test *test, const char *name, const char *entries);
void kernel_test_bools(struct kernel_test *test, const char *name, const char *digits); /* "01" */
void kernel_test_frame(struct kernel_test *test, const granary_frame *frame);
void kernel_test_bytes(struct kernel_test *test, const struct gr_value *value);
granary_err kernel_test_run(struct kernel_test *test, gr_kernel *kernel);
/* Run, which must succeed, and take output 0 as a frame. Ends the test's call. */
granary_frame *kernel_test_to_frame(struct kernel_test *test, gr_kernel *kernel);
/* Run, which must fail with this error and a message that contains text. Ends the test's call. */
void kernel_test_fails(struct kernel_test *test, gr_kernel *kernel, granary_err err, const char *text);
void kernel_test_fini(struct kernel_test *test);

#endif
