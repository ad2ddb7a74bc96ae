/*
 * A naive model of a mutable frame with the columns id, v and s: every row, and everything that was written over it. Random
 * operations are done to the table and to the model, and every read of the table is compared.
 */
#ifndef STORE_MUTABLE_MODEL_H
#define STORE_MUTABLE_MODEL_H

#include "mutable_tools.h"

#define TABLE_LIFE 400 /* operations */
#define ROWS_MOST  40  /* of one write */

/* A value of column v and s: null, or a number, and the same as text. */
struct value {
    bool is_null;
    int64_t number;
};

struct overwrite {
    int64_t time;
    size_t order;
    bool has_v, has_s;
    struct value v, s;
    struct overwrite *before;
};

struct row {
    int64_t id;
    int64_t number; /* -1: not known yet */
    int64_t time;
    int64_t deleted; /* at the earliest; INT64_MAX: not */
    struct value v, s;
    struct overwrite *last; /* of those that were written over it */
};

struct model {
    struct course course; /* its client, seed and how are the caller's */
    void **state;         /* of the test: writes are now and then begun by a child that is killed; NULL: not now */
    struct row *rows;
    size_t count;
    size_t reads, deleted, overwritten, refused, killed;
};

/* A table for at most TABLE_LIFE operations; and its end. */
void model_begin(struct model *model);
void model_end(struct model *model);

/* One random operation. */
void model_step(struct model *model);

/* Seal the table as it was at a time. */
void model_seal(struct model *model);

/* Read at a time, and compare. */
void model_check(struct model *model, int64_t time);
void model_check_past(struct model *model);

/* A frame is the table at a time. numbers: of its rows, which the model learns; may be NULL */
void model_check_rows(struct model *model, const granary_frame *frame, const int64_t *numbers, int64_t time);
/* A sealed table is this one at a time. */
void model_check_sealed(struct model *model, granary_id id, int64_t time);

#endif
