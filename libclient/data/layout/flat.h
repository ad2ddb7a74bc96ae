/*
 * The subset of Flatbuffers (https://flatbuffers.dev/internals/) that Arrow's metadata needs: tables with scalars,
 * references, strings, vectors of scalars, structs or tables.
 *
 * Writing goes forward, parents before children, into memory of known size; a first pass without memory measures. So
 * it allocates nothing and gives the same bytes every time. Reading trusts nothing: whatever leads outside sets `bad`
 * and reads as absent.
 */
#ifndef DATA_FLAT_H
#define DATA_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- writing ---- */

struct flat_out {
    uint8_t *bytes; /* 8-byte aligned in the file; NULL: measure only */
    size_t size;    /* so far */
};

/* A table; sizes[i]: bytes of field i (1, 2, 4, 8; references 4; 0 absent). The first one is the root. Returns where
 * it is. */
size_t flat_put_table(struct flat_out *out, const uint8_t *sizes, size_t count);
/* size: as the table was told. */
void flat_set(struct flat_out *out, size_t table, size_t field, uint64_t value, size_t size);
/* Let a reference field lead to a table, string or vector that was put after its table. */
void flat_refer(struct flat_out *out, size_t table, size_t field, size_t target);
size_t flat_put_string(struct flat_out *out, const char *text, size_t length);
/* A vector of zeros; element_size 4 (references) or a multiple of 8 (structs, aligned to 8). Returns where it is. */
size_t flat_put_vector(struct flat_out *out, size_t count, size_t element_size);
/* Element i of a vector of references leads to target. */
void flat_refer_element(struct flat_out *out, size_t vector, size_t i, size_t target);
/* Write into element i of a vector of structs. */
void flat_set_element(struct flat_out *out, size_t vector, size_t i, size_t element_size, const void *element);

/* ---- reading ---- */

struct flat_in {
    const uint8_t *bytes;
    size_t size;
    bool bad;
    size_t bad_at; /* where the first thing was that leads outside */
};

/* at 0: absent. */
struct flat_table {
    size_t at;
    size_t vtable;
    size_t fields;
    size_t size;
};

/* at: the first element. */
struct flat_vector {
    size_t at;
    size_t count;
};

struct flat_table flat_root(struct flat_in *in);
/* A scalar of size bytes, zero-extended; absent: fallback. */
uint64_t flat_uint(struct flat_in *in, struct flat_table table, size_t field, size_t size, uint64_t fallback);
struct flat_table flat_table(struct flat_in *in, struct flat_table table, size_t field);
/* Absent: count 0. */
struct flat_vector flat_vector(struct flat_in *in, struct flat_table table, size_t field, size_t element_size);
struct flat_table flat_element_table(struct flat_in *in, struct flat_vector vector, size_t i);
/* A NUL-terminated string without a NUL inside, or NULL when it is absent or bad. */
const char *flat_string(struct flat_in *in, struct flat_table table, size_t field);

#endif
