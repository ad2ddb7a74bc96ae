/*
 * sealed: the object that a sealed table is. It is a frame with a row for each part of the table, and contains the
 * parts: they live as long as it does. docs/formats.md has its columns.
 */
#ifndef MUTABLE_SEALED_H
#define MUTABLE_SEALED_H

#include <stdbool.h>

#include "granary/store.h"

struct index;

/*
 * An object with rows of the table; they follow one another in the parts' order. Or a chunk of a tensor, in no order;
 * its first part is then the object that tells its shape, and chunks without a part are the fill.
 */
struct sealed_part {
    granary_id id;
    uint64_t number; /* of its first row; of the chunk */
    int64_t rows;
    uint64_t offset; /* 0: the object is a frame or a tensor; else a chunk's values begin at that byte of its data */
};
#define SEALED_SHAPE       UINT64_MAX /* the number of the part that tells the shape */
#define SEALED_TENSOR_MARK "granary sealed tensor 1"

struct sealed_parts {
    struct sealed_part *part;
    size_t count;
    size_t room;
};

/* Errors: ENOMEM */
granary_err sealed_add(struct sealed_parts *parts, struct sealed_part part);
void sealed_free(struct sealed_parts *parts);

#define SEALED_MARK "granary sealed table 1"
#define BASE_MARK   "granary mutable base 1" /* see mutable/history.c */

/* Put an object of that mark; it contains the parts. counted: it lives by references. Errors: EEXIST · as
 * granary_object_create_with() */
granary_err
sealed_put(granary_client *client, granary_id id, const char *mark, const struct sealed_parts *parts, bool counted);

/* Errors: ETYPE the object has another mark · ECORRUPT · as granary_object_get() */
granary_err sealed_get(granary_client *client, granary_id id, const char *mark, struct sealed_parts *ret_parts);

/* Learn a part: rows [begin, ...) of its object, of which number is row 0's; is_full: the object has no others. Or a chunk of
 * a tensor. Errors: ECORRUPT it makes no sense · ENOMEM */
granary_err sealed_learn_rows(struct index *index, const struct sealed_part *part, uint64_t begin, bool is_full);
granary_err sealed_learn_tile(struct index *index, const struct sealed_part *part);

/* Whether an object is a sealed table, as its metadata tells. */
bool sealed_is(granary_client *client, granary_id id);

#endif
